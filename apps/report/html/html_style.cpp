// The style sheet of every page: two palettes, narrow screens, paper. Contrast of text is 4.5 or more in both palettes.

#include "apps/report/html/html.hpp"

namespace napkin::internal::report::html {

namespace {
constexpr std::string_view sheet = R"(
:root { color-scheme: light dark;
  --paper: #fff; --panel: #f5f6f8; --ink: #191c20; --soft: #555c66; --line: #d8dce2; --link: #1a5a9e;
  --a: #1f66b0; --b: #b4541a; --c: #2c7a4b; --d: #7a4aa0; --e: #8a6a00; --less: #1f66b0; --more: #b4541a; --over: #b3261e;
  --h0: #1b6b4a; --h1: #55a37d; --h2: #9fd0b4; --h3: #d8eae1; --h4: #f6e6c6; --h5: #eebd8e; --h6: #d98a5f;
  --hatch: #e3e6ea; }
@media screen and (prefers-color-scheme: dark) { :root {
  --paper: #14171b; --panel: #1d2127; --ink: #e8eaed; --soft: #a9b0ba; --line: #363c45; --link: #8fbdf0;
  --a: #6ba8ec; --b: #eb9560; --c: #6cc492; --d: #c199e6; --e: #d9b545; --less: #6ba8ec; --more: #eb9560; --over: #ff8a80;
  --h0: #7fd9ae; --h1: #4aa37b; --h2: #2d7455; --h3: #2b4a3e; --h4: #54452b; --h5: #7d5531; --h6: #a8653c;
  --hatch: #2a2f37; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0 auto; max-width: 92rem; padding: 0 1.25rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .5rem; z-index: 2; }
header { padding: 2rem 0 .5rem; }
.kicker { margin: 0; color: var(--soft); font-size: .875rem; letter-spacing: .04em; text-transform: uppercase; }
h1 { margin: .1rem 0 .4rem; font-size: clamp(1.5rem, 4.5vw, 2.25rem); line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 0 0 .4rem; font-size: 1.375rem; line-height: 1.3; }
h3 { margin: 1.5rem 0 .3rem; font-size: 1.05rem; }
p { margin: 0 0 .8rem; max-width: 46rem; }
.lead { font-size: 1.125rem; max-width: 52rem; }
section { padding: 1.75rem 0 .5rem; border-top: 1px solid var(--line); }
nav { position: sticky; top: 0; background: var(--paper); border-top: 1px solid var(--line); z-index: 3; }
nav ul { display: flex; gap: .2rem 1.1rem; margin: 0; padding: .5rem 0; list-style: none; overflow-x: auto; white-space: nowrap;
  font-size: .9rem; scrollbar-width: thin; }
nav + main section:first-child { border-top: 1px solid var(--line); }
section { scroll-margin-top: 2.75rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.75rem, 1fr)); gap: 1px; margin: 1.1rem 0 1.4rem;
  background: var(--panel); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.facts div { box-shadow: 0 0 0 1px var(--line); padding: .7rem .75rem; }
.facts dt { color: var(--soft); font-size: .825rem; }
.facts dd { margin: 0; }
.facts dd b { display: block; font-size: 1.2rem; line-height: 1.35; font-weight: 600; }
.facts dd > span { display: block; color: var(--soft); font-size: .825rem; line-height: 1.4; }
.knobs { display: flex; flex-wrap: wrap; gap: .4rem; margin: .4rem 0 1rem; padding: 0; list-style: none; }
.knobs li { border: 1px solid var(--line); border-radius: 5px; padding: .05rem .5rem; font-size: .9rem; background: var(--panel); }
.knobs b { font-weight: 600; }
.note { border-left: 4px solid var(--e); background: var(--panel); padding: .6rem .9rem; max-width: 52rem; }
.refused { border-left-color: var(--over); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; }
pre { overflow-x: auto; background: var(--panel); padding: .8rem 1rem; border-radius: 6px; line-height: 1.45; overflow-wrap: normal; }
.scroll { position: relative; overflow-x: auto; margin: .4rem 0 1.2rem;
  background: linear-gradient(270deg, var(--paper) 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(270deg, var(--line), transparent) right / .9rem 100% no-repeat scroll; }
table { border-collapse: separate; border-spacing: 0; font-size: .9rem; line-height: 1.35; overflow-wrap: normal; }
caption { text-align: left; color: var(--soft); padding: 0 0 .35rem; font-size: .875rem; }
caption span { display: block; position: sticky; left: 0; width: max-content; max-width: min(70rem, calc(100vw - 2.6rem)); }
th, td { padding: .32rem .7rem; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: .3rem; }
thead th { color: var(--soft); font-weight: 500; border-bottom: 2px solid var(--line); vertical-align: bottom; }
tbody th { font-weight: 500; }
td, tbody th { max-width: 24rem; } tbody th { min-width: 8.5rem; } td code { white-space: nowrap; } tbody th code { overflow-wrap: break-word; }
td:last-child { min-width: 9.5rem; } td.w { min-width: 18rem; } thead th.n { white-space: normal; min-width: 4.6rem; } .map :is(td, th) { min-width: 0; }
.reasons { margin: 0 0 1rem; padding-left: 1.2rem; max-width: 46rem; } .reasons li { margin: .15rem 0; overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; }
tr.marked > * { background: var(--panel); font-weight: 600; }
.bar { display: inline-block; width: 8rem; height: .7rem; background: var(--hatch); border-radius: 2px; overflow: hidden; vertical-align: middle; margin-right: .4rem; }
.fill { display: block; height: 100%; background: var(--a); }
.fill.over { background: repeating-linear-gradient(45deg, var(--over) 0 4px, transparent 4px 7px); }
.both { position: relative; display: inline-block; width: 9rem; height: .8rem; vertical-align: middle;
  background: linear-gradient(var(--soft), var(--soft)) center / 1px 100% no-repeat; }
.both span { position: absolute; top: 0; bottom: 0; }
.less { background: var(--less); }
.more { background: repeating-linear-gradient(90deg, var(--more) 0 3px, transparent 3px 5px); }
figure { margin: .6rem 0 1.4rem; }
figcaption { color: var(--soft); font-size: .875rem; max-width: 52rem; }
figure svg { display: block; max-width: 100%; height: auto; }
figure.chart svg { min-width: 34rem; width: 100%; max-width: 54rem; }
figure.square svg { max-width: 42rem; }
figure.wide svg { max-width: none; width: 100%; min-width: 42rem; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 2.5rem; }
.beside h3:first-child { margin-top: 0; }
@media (min-width: 68.75rem) { .beside { grid-template-columns: minmax(20rem, 5fr) minmax(0, 9fr); } }
.pipes table { width: 100%; } .pipes :is(th, td) { padding: .1rem .5rem; border: 0; white-space: nowrap; } .pipes thead { display: none; }
.pipes td:last-child { width: 100%; min-width: 5rem; } .pipes .bar { width: 100%; }
.term { text-decoration: underline dotted var(--soft) 1px; text-underline-offset: .2em; cursor: help; }
.glossary { columns: 24rem; column-gap: 2.5rem; margin: 0 0 1rem; font-size: .9rem; } .glossary dt { break-after: avoid; } .glossary dd { margin: 0 0 .4rem 1rem; color: var(--soft); break-inside: avoid; }
.drawn { display: block; width: 100%; max-width: var(--drawn); min-width: calc(.68 * var(--drawn)); height: auto; mix-blend-mode: multiply; }
@media screen and (prefers-color-scheme: dark) { .drawn { filter: invert(1) hue-rotate(180deg) brightness(.93); mix-blend-mode: screen; } }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: 6px; padding: 0 .8rem; }
summary { cursor: pointer; padding: .45rem 0; font-weight: 500; }
details[open] > summary { border-bottom: 1px solid var(--line); margin-bottom: .6rem; }
.map { border-spacing: 2px; } .map td, .map th { text-align: center; padding: .25rem .35rem; border: 0; white-space: nowrap; font-size: .825rem; }
.map thead th, .map tbody th { border: 0; color: var(--ink); }
.map thead th:first-child { white-space: normal; max-width: 7rem; text-align: right; } .map caption { white-space: normal; } .map caption span { width: auto; min-width: 15rem; max-width: 26rem; } details caption span { max-width: min(68rem, calc(100vw - 4.6rem)); }
.map tbody th { text-align: right; padding-right: .5rem; }
.map td { min-width: 4.2rem; }
.map .none { background: repeating-linear-gradient(45deg, var(--hatch) 0 3px, transparent 3px 8px); color: var(--soft); }
.map .none small { display: block; max-width: 6rem; margin: auto; white-space: normal; line-height: 1.15; }
.map .pick { outline: 3px solid var(--ink); outline-offset: -3px; font-weight: 700; }
.maps, .maps .small { display: flex; flex-wrap: wrap; gap: 0 2.5rem; align-items: flex-start; } .maps > div { max-width: 100%; }
.maps .small { flex: 1 1 30rem; } .small .scroll { max-width: 100%; }
.small .map :is(td, th) { font-size: .75rem; padding: .1rem .25rem; line-height: 1.25; } .small .map td { min-width: 3.4rem; }
.h0 { background: var(--h0); color: var(--paper); } .h1 { background: var(--h1); color: #08130d; } .h2 { background: var(--h2); }
.h3 { background: var(--h3); } .h4 { background: var(--h4); } .h5 { background: var(--h5); } .h6 { background: var(--h6); }
@media (prefers-color-scheme: light) { .h6 { color: #1d0c03; } }
.key { display: flex; flex-wrap: wrap; gap: .3rem .8rem; padding: 0; margin: 0 0 .8rem; list-style: none; font-size: .825rem; color: var(--soft); }
.key i { display: inline-block; width: 1.1rem; height: .8rem; margin-right: .35rem; vertical-align: -.05rem; border: 1px solid var(--line); }
.key .none { background: repeating-linear-gradient(45deg, var(--soft) 0 1px, transparent 1px 5px); }
svg .axis { stroke: var(--soft); stroke-width: 1; } svg .grid { stroke: var(--line); stroke-width: 1; }
.chart text { fill: var(--ink); font: 13px system-ui, "DejaVu Sans", sans-serif; } .chart text.soft { fill: var(--soft); font-size: 12px; }
svg .roof { stroke: var(--ink); stroke-width: 2.5; fill: none; } svg .band { fill: var(--hatch); }
.s0 { stroke: var(--a); } .s1 { stroke: var(--b); } .s2 { stroke: var(--c); } .s3 { stroke: var(--d); } .s4 { stroke: var(--e); }
.p0 { fill: var(--a); } .p1 { fill: var(--b); } .p2 { fill: var(--c); } .p3 { fill: var(--d); } .p4 { fill: var(--e); }
.chart text.p0 { fill: var(--a); } .chart text.p1 { fill: var(--b); } .chart text.p2 { fill: var(--c); } .chart text.p3 { fill: var(--d); } .chart text.p4 { fill: var(--e); }
svg .slope { stroke-width: 2; fill: none; } svg .lead { stroke-width: 1; } svg .room { stroke-width: 1.2; stroke-dasharray: 3 4; fill: none; }
svg .guide { stroke-width: 1; stroke-opacity: .45; fill: none; } svg .other { fill: none; stroke-width: 1.4; } svg .dot { stroke: var(--paper); stroke-width: 1.2; } svg .dots { fill-opacity: .55; }
.chart text.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; color: var(--soft); font-size: .875rem; }
@media screen { .scroll :is(thead, tbody) th:first-child { position: sticky; left: 0; background: var(--paper); z-index: 1; } .scroll tr.marked > th:first-child { background: var(--panel); } }
@media (max-width: 40rem) { tbody th { min-width: 6.5rem; max-width: 9.5rem; overflow-wrap: break-word; } .pipes tbody th { white-space: normal; } body { padding: 0 .9rem 2rem; } header { padding-top: 1.2rem; } .lead { font-size: 1.05rem; }
  th, td { padding: .3rem .5rem; } .bar, .both { width: 5.5rem; } .facts { grid-template-columns: 1fr 1fr; } .facts div { padding: .55rem .7rem; }
  .facts dd b { font-size: 1.1rem; } }
@media print { :root { --paper: #fff; --panel: #fff; --ink: #000; --soft: #444; --line: #bbb; color-scheme: light; }
  html { font-size: 8.5pt; } body { max-width: none; padding: 0; } nav, .skip { display: none; } section { break-inside: auto; padding: 1rem 0 0; }
  figure, table, .facts { break-inside: avoid; } .scroll { overflow: visible; background: none; } h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; }
  section > h2, section > p, caption, summary, .key, thead { break-after: avoid; } p, li, .key, .map, figcaption { break-inside: avoid; } .facts { grid-template-columns: repeat(3, 1fr); } figure { break-inside: avoid; } h2 + p { break-before: avoid; } .term { text-decoration: none; } .glossary { columns: 3; column-gap: 1.2rem; font-size: .8rem; line-height: 1.3; overflow-wrap: anywhere; }
  figure.wide svg, figure.chart svg, .drawn { min-width: 0; width: 100%; filter: none; } figure.chart svg { max-width: 34rem; }
  td.w, td:last-child, tbody th, thead th.n { min-width: 0; } .bar, .both { width: 4.5rem; } td code { white-space: normal; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";
}  // namespace

std::string_view style_sheet() { return sheet; }

}  // namespace napkin::internal::report::html
