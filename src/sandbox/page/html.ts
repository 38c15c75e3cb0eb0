/** The page of a served sandbox; it loads nothing from other hosts. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Pet Store inventory: sandbox</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/style.css">
<script type="module" src="/page/script.js"></script>
</head>
<body>
<header>
  <h1>Pet Store inventory <small>sandbox</small></h1>
  <p id="connection" role="status">connecting</p>
</header>
<main>
  <section aria-labelledby="keys-title">
    <h2 id="keys-title">Keys and limits</h2>
    <p class="address">Production <code id="address"></code> <button type="button" id="copy-address" aria-label="Copy the address of production">Copy</button></p>
    <p class="address">Staging <code id="staging-address"></code> <button type="button" id="copy-staging-address" aria-label="Copy the address of staging">Copy</button></p>
    <ul id="keys"></ul>
  </section>
  <section aria-labelledby="graph-title">
    <h2 id="graph-title">Latest minutes <span>of production, the newest on the right</span></h2>
    <p class="legend"><span class="passed">requests</span> <span class="refused">refused</span> <span class="left">Remaining</span> <span class="asked">asked to wait</span></p>
    <div id="graphs"><p id="graphs-empty">No key was used yet</p></div>
  </section>
  <section aria-labelledby="demo-title">
    <h2 id="demo-title">Demo client</h2>
    <p>Lists the stock and updates pets with the free key, from this page.</p>
    <p class="buttons">
      <button type="button" id="demo-patient" aria-pressed="false">Start a patient client</button>
      <button type="button" id="demo-reckless" aria-pressed="false">Start a reckless client</button>
    </p>
    <p id="demo-note-patient" role="status"></p>
    <p id="demo-note-reckless" role="status"></p>
  </section>
  <section aria-labelledby="requests-title">
    <h2 id="requests-title">Requests <span id="totals"></span></h2>
    <p class="buttons"><button type="button" id="reset">Begin anew</button> <span id="reset-note" role="status"></span></p>
    <ol id="timeline" tabindex="0" aria-label="Latest requests, newest first"></ol>
  </section>
  <section aria-labelledby="stock-title">
    <h2 id="stock-title">Inventory <span id="stock-size"></span><span id="stock-hint"></span></h2>
    <label>Search by id or status <input id="search" type="search" autocomplete="off"></label>
    <div class="scroll" tabindex="0" role="region" aria-label="Inventory">
      <table>
        <thead><tr><th scope="col">Pet</th><th scope="col">Quantity</th><th scope="col">Status</th></tr></thead>
        <tbody id="stock"></tbody>
      </table>
    </div>
    <p class="buttons pages"><button type="button" id="stock-previous" disabled>Previous</button> <span id="stock-place" role="status"></span> <button type="button" id="stock-next" disabled>Next</button></p>
  </section>
</main>
</body>
</html>
`;
