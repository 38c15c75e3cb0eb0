/** One column on a phone, two on a wide screen. The colours follow the browser's light or dark setting. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ground: light-dark(#f6f7f5, #14181a); --card: light-dark(#fff, #1d2326); --ink: light-dark(#1c2327, #e6ebea);
  --soft: light-dark(#5c666b, #a0abae); --line: light-dark(#d9dfdd, #333c40); --good: light-dark(#137a4f, #5bd19a);
  --warn: light-dark(#9a5b00, #f2b55a); --bad: light-dark(#b3261e, #ff8f86); --link: light-dark(#1f5fae, #8ab8f5); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; justify-content: space-between; padding: 1rem; }
h1 { font-size: 1.3rem; margin: 0; } h1 small { color: var(--soft); font-weight: normal; }
h2 { font-size: 1rem; margin: 0 0 .5rem; } h2 span { color: var(--soft); font-weight: normal; }
main { display: grid; gap: 1rem; padding: 0 1rem 1rem; grid-template-columns: minmax(0, 1fr); max-width: 80rem; margin: auto; }
@media (min-width: 60rem) { main { display: block; columns: 2; column-gap: 1rem; } main section { break-inside: avoid; margin-bottom: 1rem; } }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; min-width: 0; }
p { margin: 0 0 .5rem; } ul, ol { list-style: none; margin: 0; padding: 0; }
code { font: .85rem/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
button, input { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .7rem; min-height: 2.4rem; }
button { cursor: pointer; } button[aria-pressed=true] { border-color: var(--warn); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
#keys li { border-top: 1px solid var(--line); padding: .5rem 0; }
.key { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.gauge { display: grid; grid-template-columns: 3.5rem minmax(0, 1fr) 17rem; gap: 0 .5rem; align-items: center; font-size: .85rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.gauge span:last-child { text-align: right; }
meter { width: 100%; height: .8rem; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem; }
#timeline, .scroll { max-height: 22rem; overflow: auto; }
.scroll { border-bottom: 1px solid var(--line); } thead th { position: sticky; top: 0; background: var(--card); }
#timeline li { display: grid; grid-template-columns: 6.4rem 2.5rem 4.5rem minmax(0, 1fr); gap: 0 .5rem; padding: .15rem .4rem; font: .8rem/1.5 ui-monospace, monospace; border-left: 4px solid var(--line); overflow-wrap: anywhere; }
@media (max-width: 36rem) { .key { margin-bottom: .4rem; } .gauge { grid-template-columns: 3.5rem minmax(0, 1fr); } .gauge span:last-child { grid-column: 2; text-align: left; }
  #timeline li { grid-template-columns: 6.4rem 2.5rem minmax(0, 1fr); } #timeline li span:last-child { grid-column: 1 / -1; } }
#timeline li.good { border-color: var(--good); } #timeline li.warn { border-color: var(--warn); } #timeline li.bad { border-color: var(--bad); }
.good b, b.good { color: var(--good); } .warn b, b.warn { color: var(--warn); } .bad b, b.bad { color: var(--bad); }
#graphs figure { margin: 0 0 .6rem; } #graphs figcaption { font-size: .85rem; color: var(--soft); font-variant-numeric: tabular-nums; }
#graphs svg { display: block; width: 100%; height: 6rem; background: var(--ground); border: 1px solid var(--line); border-radius: .3rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .85rem; color: var(--soft); }
.legend span::before { content: ''; display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; vertical-align: -.1rem; background: var(--good); }
.legend .refused::before { background: var(--bad); } .legend .left::before { background: var(--link); height: .2rem; vertical-align: .25rem; } .legend .asked::before { background: var(--warn); opacity: .35; }
svg .passed { fill: var(--good); } svg .refused { fill: var(--bad); } svg .asked { fill: var(--warn); opacity: .25; } svg .left { fill: none; stroke: var(--link); stroke-width: 2; vector-effect: non-scaling-stroke; }
button:disabled { opacity: .5; cursor: default; } .pages { justify-content: center; align-items: center; margin-top: .5rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .5rem; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
label { display: grid; gap: .2rem; margin-bottom: .5rem; color: var(--soft); }
`;
