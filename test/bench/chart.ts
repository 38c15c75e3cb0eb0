// Bars as an SVG that suits light and dark pages.
export interface Bar {
  label: string;
  value: number;
  /** What is printed behind the bar. */
  text: string;
  isOurs: boolean;
}

export interface Group {
  title: string;
  bars: readonly Bar[];
}

const ROW = 22;
const LABEL_WIDTH = 230;
const BAR_WIDTH = 380;

const STYLE = `text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.bar{fill:#8c959f}.ours{fill:#1a7f37}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.ours{fill:#3fb950}}`;

export function drawBars(groups: readonly Group[]): string {
  let y = 8;
  const parts: string[] = [];
  for (const { title, bars } of groups) {
    parts.push(`<text class="title" x="8" y="${y + 16}">${escaped(title)}</text>`);
    y += ROW + 4;
    const most = Math.max(...bars.map((bar) => bar.value));
    for (const bar of bars) {
      parts.push(drawBar(bar, y, most));
      y += ROW;
    }
    y += 14;
  }
  const width = LABEL_WIDTH + BAR_WIDTH + 110;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="${escaped(groups.map((group) => group.title).join('; '))}"><style>${STYLE}</style>${parts.join('')}</svg>\n`;
}

function drawBar({ label, value, text, isOurs }: Bar, y: number, most: number): string {
  const width = Math.max(2, (value / most) * BAR_WIDTH).toFixed(1);
  const name = `<text x="${LABEL_WIDTH - 8}" y="${y + 15}" text-anchor="end">${escaped(label)}</text>`;
  const bar = `<rect class="bar${isOurs ? ' ours' : ''}" x="${LABEL_WIDTH}" y="${y + 3}" width="${width}" height="${ROW - 6}" rx="2"/>`;
  return `${name}${bar}<text x="${LABEL_WIDTH + Number(width) + 6}" y="${y + 15}">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
