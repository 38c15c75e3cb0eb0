/**
 * Two demo clients in the page. The patient one waits as long as a 429 says, in seconds or as a date, or a minute if it does not say; the
 * reckless one does not, and is banned.
 */
export const DEMO_SCRIPT = `
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const demos = { patient: undefined, reckless: undefined };
function askedSeconds({ headers }) {
  const told = headers.get('retry-after') || 'no date';
  const nowMs = Date.parse(headers.get('date')) || Date.now();
  const seconds = Number.isNaN(Number(told)) ? Math.ceil((Date.parse(told) - nowMs) / 1000) : Number(told);
  return Number.isNaN(seconds) ? 60 : seconds;
}
async function runDemo(name, run) {
  const authorization = 'Bearer ' + [...rows.keys()][0];
  const ask = (path, init) => fetch(baseUrl + path, { ...init, headers: { authorization, 'content-type': 'application/json' } });
  let pets = [];
  while (demos[name] === run) {
    const pet = pets[Math.floor(Math.random() * pets.length)];
    const body = JSON.stringify({ quantity: Math.floor(Math.random() * 100) });
    const answer = await (pet ? ask('/inventory/' + pet.petId, { method: 'PATCH', body }) : ask('/inventory')).catch(() => undefined);
    if (answer?.ok && !pet) pets = (await answer.json()).slice(0, 50);
    const seconds = answer?.status === 429 ? askedSeconds(answer) : 0;
    if (demos[name] === run) say(name, seconds > 0 ? 'was asked to wait ' + seconds + ' s and ' + (name === 'patient' ? 'waits' : 'goes on') : 'is running');
    await wait(name === 'patient' ? Math.max(300, seconds * 1000) : 60);
  }
}
function say(name, text) {
  find('demo-note-' + name).textContent = text && 'The ' + name + ' client ' + text;
}
for (const name of Object.keys(demos)) {
  const button = find('demo-' + name);
  button.addEventListener('click', () => {
    // Each run is a new object: a stopped run may still be waiting when the next one begins.
    const run = demos[name] ? undefined : {};
    demos[name] = run;
    button.ariaPressed = String(run !== undefined);
    button.textContent = (run ? 'Stop the ' : 'Start a ') + name + ' client';
    say(name, run ? 'is running' : '');
    if (run) runDemo(name, run);
  });
}
`;
