/**
 * Records the command line against a sandbox and draws it as an animated SVG:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings test/bench/recording.ts'
 *
 * It writes docs/petstore.svg; the same sources give the same picture.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../../src/cli/run-cli.ts';
import { serveSandbox } from '../../src/node/serve.ts';
import { FakeTerminal } from '../cli/support/fake-terminal.ts';

const RESTOCK = 'petId,quantity,adjust\n1,20,\n2,,+5\n3,,-2\n4,48,\n77,5,\n';

/** A line of the screen and the second at which it appears. */
interface Line {
  text: string;
  atSeconds: number;
}

async function record(): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-recording-'));
  const quantities = [12, 30, 8, 48, 0, 17];
  const served = await serveSandbox({
    pets: quantities.map((quantity, index) => ({ petId: index + 1, quantity, status: index === 4 ? 'sold' : 'available' })),
  });
  Object.assign(process.env, { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, PETSTORE_PLAN: 'pro' });
  process.chdir(folder);
  await writeFile('restock.csv', RESTOCK);
  const lines: Line[] = [];
  let atSeconds = 0;
  const show = (text: string, waitSeconds: number): void => {
    atSeconds += waitSeconds;
    lines.push({ text, atSeconds });
  };
  const commands = [
    'petstore list',
    'cat restock.csv',
    'petstore sync restock.csv --dry-run',
    'petstore sync restock.csv --journal restock.journal',
  ];
  for (const [place, command] of commands.entries()) {
    // The first command and its output are the first frame: a preview or a stopped animation shows them.
    const pace = place === 0 ? 0 : 1;
    show(`\u001b[1m$ ${command}\u001b[0m`, 1.2 * pace);
    for (const [index, line] of (await outputOf(command)).entries()) show(line, (index === 0 ? 0.6 : 0.06) * pace);
  }
  await served.close();
  await rm(folder, { recursive: true });
  return lines;
}

async function outputOf(command: string): Promise<string[]> {
  const [program, ...words] = command.split(' ');
  if (program === 'cat') return (await readFile(words[0] ?? '', 'utf8')).trimEnd().split('\n');
  const terminal = new FakeTerminal({ isTTY: true });
  await runCli(words, terminal);
  return terminal.out.trimEnd().split('\n');
}

const LINE_HEIGHT = 20;
const PADDING = 16;
const CLASSES: Readonly<Record<string, string>> = { '1': 'bold', '2': 'dim', '31': 'red', '32': 'green', '33': 'yellow' };

function draw(lines: readonly Line[]): string {
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const texts = lines.map(({ text, atSeconds }, index) => {
    const y = PADDING + (index + 1) * LINE_HEIGHT - 6;
    const style = atSeconds === 0 ? 'class="first"' : `style="animation-delay:${atSeconds.toFixed(2)}s"`;
    return `<text x="${PADDING}" y="${y}" ${style}>${spans(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 ${height}" width="760" height="${height}" role="img" aria-label="petstore list and petstore sync in a terminal">
<style>
rect{fill:#161b22}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre;opacity:0;animation:appear .01s linear forwards}
.first{animation:none;opacity:1}
.bold{font-weight:bold}.dim{fill:#8b949e}.red{fill:#ff7b72}.green{fill:#7ee787}.yellow{fill:#e3b341}
@keyframes appear{to{opacity:1}}
@media (prefers-reduced-motion:reduce){text{animation:none;opacity:1}}
</style>
<rect width="100%" height="100%" rx="8"/>
${texts.join('\n')}
</svg>
`;
}

/** Text with colours of a terminal as spans with classes. */
function spans(text: string): string {
  const [plain = '', ...painted] = text.split('\u001b[');
  const parts = painted.map((part) => {
    const [code = '', rest = ''] = [part.slice(0, part.indexOf('m')), part.slice(part.indexOf('m') + 1)];
    const name = CLASSES[code];
    return name && rest !== '' ? `<tspan class="${name}">${escapeXml(rest)}</tspan>` : escapeXml(rest);
  });
  return escapeXml(plain) + parts.join('');
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const output = new URL('../../docs/petstore.svg', import.meta.url);
await writeFile(output, draw(await record()));
