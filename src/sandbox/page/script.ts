import { DEMO_SCRIPT } from './demo.ts';
import { GRAPH_SCRIPT } from './graph.ts';

/**
 * The script of the page. It sets the sandbox's text as text only, never as markup. Each connection begins with the latest requests; all
 * pets of the page that is shown may be gone.
 */
export const PAGE_SCRIPT = `
const find = (id) => document.getElementById(id);
const make = (tag, text = '', className = '') => Object.assign(document.createElement(tag), { textContent: text, className });
const clockTime = (ms) => new Date(ms).toISOString().slice(11, 23);
const duration = (seconds) => (seconds > 7200 ? Math.ceil(seconds / 3600) + ' h' : seconds > 120 ? Math.ceil(seconds / 60) + ' min' : seconds + ' s');
const baseUrl = location.origin + '/v1';

for (const [id, address] of [['address', baseUrl], ['staging-address', location.origin + '/staging/v1']]) {
  find(id).textContent = address;
  find('copy-' + id).addEventListener('click', (event) => copy(event.currentTarget, address));
}

async function copy(button, text) {
  await navigator.clipboard?.writeText(text).catch(() => {});
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = 'Copy'; }, 1500);
}

// One row each, made once, so that focus stays where it is while the figures change.
const rows = new Map();
function keyRow({ key, plan }) {
  const row = make('li');
  const line = make('div', '', 'key');
  const button = Object.assign(make('button', 'Copy'), { type: 'button', ariaLabel: 'Copy the key of ' + plan });
  button.addEventListener('click', () => copy(button, key));
  const state = make('b');
  line.append(make('span', plan), make('code', key), button, state);
  const gauges = { minute: gaugeOf(plan + ', minute'), day: gaugeOf(plan + ', day') };
  row.append(line, gauges.minute.box, gauges.day.box);
  find('keys').append(row);
  return { row, state, gauges };
}
function gaugeOf(name) {
  const box = make('div', '', 'gauge');
  const meter = Object.assign(document.createElement('meter'), { min: 0, ariaLabel: name });
  const text = make('span');
  box.append(make('span', name.split(', ')[1]), meter, text);
  return { box, meter, text };
}
function showGauge({ box, meter, text }, told, nowMs) {
  box.hidden = !told;
  if (!told) return;
  Object.assign(meter, { max: told.limit, low: told.limit / 5, high: told.limit / 2, optimum: told.limit, value: told.remaining });
  const seconds = Math.max(0, Math.ceil((told.resetAtMs - nowMs) / 1000));
  text.textContent = told.remaining + ' of ' + told.limit + ' left, resets in ' + duration(seconds);
}
function showKeys({ keys, nowMs }) {
  for (const known of keys) {
    const shown = rows.get(known.key) ?? keyRow(known);
    rows.set(known.key, shown);
    showGauge(shown.gauges.minute, known.minute, nowMs);
    showGauge(shown.gauges.day, known.day, nowMs);
    const isBanned = known.bannedUntilMs > nowMs;
    const isPunished = known.penaltyUntilMs > nowMs;
    shown.state.textContent = isBanned ? 'banned' : isPunished ? 'penalty' : '';
    shown.state.className = isBanned ? 'bad' : 'warn';
  }
  const valid = new Set(keys.map(({ key }) => key));
  for (const [key, { row }] of rows) if (!valid.has(key)) { row.remove(); rows.delete(key); }
}

function requestLine(request) {
  const { status, code, fault, duringPenalty } = request;
  const mood = status === undefined || status >= 500 || code === 'key_banned' ? 'bad' : status >= 400 ? 'warn' : 'good';
  const line = make('li', '', duringPenalty && mood === 'good' ? 'warn' : mood);
  const notes = [request.plan, code, duringPenalty && 'during penalty', fault && 'fault: ' + fault].filter(Boolean).join(', ');
  line.append(make('span', clockTime(request.atMs)), make('b', String(status ?? 'none')), make('span', request.method), make('span', request.path + '  ' + notes));
  return line;
}
let counted = 0;
function showRequests({ requests, report }) {
  // A script has reset the sandbox, or cleared its requests.
  if (report.requests < counted) {
    find('timeline').replaceChildren();
    showStock();
  }
  counted = report.requests;
  find('timeline').prepend(...requests.map(requestLine).reverse());
  while (find('timeline').childElementCount > 200) find('timeline').lastElementChild.remove();
  find('totals').textContent = report.requests + ' in all, ' + report.rateLimited + ' with 429, ' + report.duringPenalty + ' during a penalty, ' + report.bans + (report.bans === 1 ? ' ban' : ' bans');
}

const PAGE = 100;
let from = 0;
let searching;
async function showStock() {
  searching?.abort();
  const { signal } = (searching = new AbortController());
  const asked = '/page/stock?from=' + from + '&search=' + encodeURIComponent(find('search').value);
  const answer = await fetch(asked, { signal }).catch(() => undefined);
  const told = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  if (!told || signal.aborted) return;
  const { size, items, hasMore } = told;
  if (items.length === 0 && from > 0) return turnTo(from - PAGE);
  const isOnePage = from === 0 && !hasMore;
  find('stock-previous').disabled = from === 0;
  find('stock-next').disabled = !hasMore;
  find('stock-place').textContent = isOnePage ? '' : (from + 1) + ' to ' + (from + items.length);
  find('stock-size').textContent = size + ' pets';
  find('stock').replaceChildren(...items.map(({ petId, quantity, status }) => {
    const row = make('tr');
    row.append(make('td', petId), make('td', String(quantity)), make('td', status));
    return row;
  }));
  const box = find('stock').closest('.scroll');
  const isCut = box.scrollHeight > box.clientHeight;
  const isPart = items.length < size && find('search').value === '';
  find('stock-hint').textContent = (isPart ? ', ' + (from === 0 ? 'the first ' : '') + items.length + ' below' : '') + (isCut ? ', scroll for more' : '');
}
function turnTo(place) {
  from = Math.max(0, place);
  find('stock').closest('.scroll').scrollTop = 0;
  return showStock();
}
find('search').addEventListener('input', () => turnTo(0));
find('stock-next').addEventListener('click', () => turnTo(from + PAGE));
find('stock-previous').addEventListener('click', () => turnTo(from - PAGE));
find('reset').addEventListener('click', async () => {
  const answer = await fetch('/page/reset', { method: 'POST', headers: { 'x-sandbox-reset': '1' } }).catch(() => undefined);
  find('timeline').replaceChildren();
  find('reset-note').textContent = answer?.ok ? 'Stock, quotas and requests are reset' : 'The sandbox did not answer';
  turnTo(0);
  showGraphs();
});

const events = new EventSource('/page/events');
events.addEventListener('open', () => {
  find('connection').textContent = 'live';
  find('timeline').replaceChildren();
  showStock();
});
events.addEventListener('error', () => { find('connection').textContent = 'not connected'; });
events.addEventListener('message', ({ data }) => {
  const news = JSON.parse(data);
  showKeys(news);
  showRequests(news);
  if (news.requests.some(({ method }) => method === 'PATCH')) showStock();
});
${GRAPH_SCRIPT}${DEMO_SCRIPT}`;
