// As program.js, with what only a server can load.
import { serveSandbox } from 'petstore-inventory/node';
import './program.js';

serveSandbox({ port: 0, pets: 3 }).then(async (served) => {
  const answer = await fetch(`${served.url}/inventory`, { headers: { authorization: `Bearer ${served.keys.free}` } });
  console.log(`served ${answer.status}`);
  await served.close();
});
