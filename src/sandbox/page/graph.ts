/** Draws for every key, over the latest minutes: its requests, what was left of its minute, and when it was asked to wait. */
export const GRAPH_SCRIPT = `
// One second is one unit wide, the height is 100.
const SECONDS = 300;
const svg = (tag, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const box = (className, x, width, height, top = 100 - height) => svg('rect', { class: className, x, y: top, width, height });

/** A stepped line of the part of the minute's quota that is left. It is full again after the reset. */
function leftLine(samples, first, last) {
  const points = [];
  let level;
  const step = (second, next) => {
    const x = Math.min(second, last) - first;
    if (level !== undefined) points.push(x + ',' + level);
    level = 100 - next * 100;
    points.push(x + ',' + level);
  };
  samples.forEach(({ second, remaining, limit, resetAtMs }, index) => {
    step(second, remaining / limit);
    const full = Math.ceil(resetAtMs / 1000);
    const next = samples[index + 1]?.second ?? last;
    if (full < next) step(full, 1);
  });
  if (level !== undefined) points.push((last - first) + ',' + level);
  return svg('polyline', { class: 'left', points: points.join(' ') });
}
function waitsOf(samples, first, last) {
  const end = (index) => samples[index + 1]?.second ?? last;
  return samples.flatMap(({ second, waitsUntilMs }, index) => {
    const until = Math.min(waitsUntilMs / 1000, end(index));
    return until > second ? [box('asked', second - first, until - second, 100)] : [];
  });
}
function graphOf({ plan, samples }, nowMs) {
  const last = Math.ceil(nowMs / 1000);
  const first = last - SECONDS;
  const peak = Math.max(...samples.map(({ requests }) => requests));
  const most = Math.max(4, peak);
  const sum = (field) => samples.reduce((total, sample) => total + sample[field], 0);
  const bars = samples.flatMap(({ second, requests, refused }) => {
    const high = (requests / most) * 100;
    return [box('passed', second - first, 1, high), ...(refused ? [box('refused', second - first, 1, (refused / most) * 100)] : [])];
  });
  const graph = svg('svg', { viewBox: '0 0 ' + SECONDS + ' 100', preserveAspectRatio: 'none', role: 'img' });
  const text = plan + ': ' + sum('requests') + ' requests in 5 min, ' + sum('refused') + ' refused, at most ' + peak + ' a second';
  graph.setAttribute('aria-label', text);
  graph.append(...waitsOf(samples, first, last), ...bars, leftLine(samples, first, last));
  const figure = make('figure');
  figure.append(make('figcaption', text), graph);
  return figure;
}
async function showGraphs() {
  const answer = await fetch('/page/history').catch(() => undefined);
  const told = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  if (!told) return;
  const none = make('p', 'No key was used in the latest minutes');
  find('graphs').replaceChildren(...(told.keys.length > 0 ? told.keys.map((key) => graphOf(key, told.nowMs)) : [none]));
}
showGraphs();
setInterval(showGraphs, 1000);
`;
