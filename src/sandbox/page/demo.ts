/** A small client in the page: a patient one waits as long as a 429 says, a reckless one does not and gets itself banned. */
export const DEMO_SCRIPT = `
// ---- demo client
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const demos = { patient: false, reckless: false };
async function runDemo(name) {
  const authorization = 'Bearer ' + [...rows.keys()][0];
  const ask = (path, init) => fetch(baseUrl + path, { ...init, headers: { authorization, 'content-type': 'application/json' } });
  const say = (text) => { find('demo-note').textContent = text; };
  let pets = [];
  while (demos[name]) {
    const pet = pets[Math.floor(Math.random() * pets.length)];
    const body = JSON.stringify({ quantity: Math.floor(Math.random() * 100) });
    const answer = await (pet ? ask('/inventory/' + pet.petId, { method: 'PATCH', body }) : ask('/inventory')).catch(() => undefined);
    if (answer?.ok && !pet) pets = (await answer.json()).slice(0, 50);
    const seconds = answer?.status === 429 ? Number(answer.headers.get('retry-after') ?? 1) : 0;
    say(seconds ? 'The service asked for ' + seconds + ' s; the ' + name + ' client ' + (name === 'patient' ? 'waits' : 'goes on') : 'The ' + name + ' client is running');
    await wait(name === 'patient' ? Math.max(300, seconds * 1000) : 60);
  }
  say('');
}
for (const name of Object.keys(demos)) {
  const button = find('demo-' + name);
  button.addEventListener('click', () => {
    demos[name] = !demos[name];
    button.ariaPressed = String(demos[name]);
    button.textContent = (demos[name] ? 'Stop the ' : 'Start a ') + name + ' client';
    if (demos[name]) runDemo(name);
  });
}
`;
