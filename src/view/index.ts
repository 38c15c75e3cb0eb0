export type { StockChange } from './change-iterator.ts';
export { StockView } from './stock-view.ts';
export type { AdjustOptions, StockViewOptions, ViewItemsOptions, ViewReadOptions } from './view-options.ts';
