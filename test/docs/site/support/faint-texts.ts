/**
 * The texts of a page with too little contrast, by WCAG 2.2 (1.4.3; 1.4.11 requires less of icons, so they are left
 * out). Runs in the page, so it has to be whole in itself.
 */
export function faintTexts(): string[] {
  const LEAST = 4.5;

  const channelsOf = (color: string): [number, number, number, number] => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = Array.from(color.matchAll(/[\d.]+/g), Number);
    return [red, green, blue, alpha];
  };
  /** Relative luminance, from 0 to 1. */
  const luminanceOf = (color: string) => {
    const [red, green, blue] = channelsOf(color).map((channel) => {
      const part = channel / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
  };
  const groundOf = (element: Element | null): string => {
    if (!element) return 'rgb(255, 255, 255)';
    const color = getComputedStyle(element).backgroundColor;
    return channelsOf(color)[3] === 0 ? groundOf(element.parentElement) : color;
  };
  const contrastOf = (element: Element) => {
    const [one, other] = [luminanceOf(getComputedStyle(element).color), luminanceOf(groundOf(element))];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  };
  const hasText = (element: Element) =>
    Array.from(element.childNodes).some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '');

  const shown = Array.from(document.querySelectorAll('.tsd-page-toolbar *, .container-main *')).filter(
    (element) => hasText(element) && element.closest('svg') === null && element.checkVisibility(),
  );
  if (shown.length < 50) return [`only ${shown.length} texts were found`];
  return shown
    .filter((element) => contrastOf(element) < LEAST)
    .map((element) => `${element.tagName} "${element.textContent?.slice(0, 40)}" ${contrastOf(element).toFixed(2)}`);
}
