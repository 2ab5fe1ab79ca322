"""The look of the page: one style sheet, light and dark, wide and narrow, screen and paper."""

__all__ = ["PAGE_STYLE"]

PAGE_STYLE = """
:root{--ink:#1b2430;--soft:#55616f;--line:#d5dbe2;--ground:#f4f6f8;--paper:#ffffff;--link:#0b5cad;
--good:#0b6b67;--good-bg:#e0f3f1;--fair:#8f4a00;--fair-bg:#fdf0df;--bad:#a81d4e;--bad-bg:#fde8ef;--mute:#55616f;
--mute-bg:#e9edf1;--edge:#c3ccd6}
@media (prefers-color-scheme:dark){:root{--ink:#e8edf3;--soft:#a3afbd;--line:#323c48;--ground:#0d1117;--paper:#161b22;
--link:#79b8ff;--good:#5eead4;--good-bg:#12332f;--fair:#fbbf77;--fair-bg:#38280f;--bad:#ff8fb5;--bad-bg:#43172a;
--mute:#a3afbd;--mute-bg:#242c36;--edge:#050709}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);line-height:1.5;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
.brand{margin:0;color:var(--soft);font-weight:600;letter-spacing:.04em}
h1{margin:.1rem 0 .6rem;font-size:clamp(1.8rem,5vw,2.6rem);line-height:1.15;letter-spacing:-.02em}
h2{margin:2.6rem 0 .8rem;font-size:1.35rem}
h3{margin:0;font-size:1.1rem;overflow-wrap:anywhere}
.lead{max-width:46rem;color:var(--soft);font-size:1.05rem;margin:0 0 1rem}
.verdict{list-style:none;margin:0;padding:1rem 1.2rem;background:var(--paper);border:1px solid var(--line);
border-left:4px solid var(--good);border-radius:.5rem}
.verdict li+li{margin-top:.35rem}.verdict li:first-child{font-weight:600}
article{background:var(--paper);border:1px solid var(--line);border-radius:.6rem;padding:1.2rem;margin:0 0 1.4rem}
.facts{color:var(--soft);margin:.2rem 0 .9rem;font-size:.93rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:.5rem 1.5rem;
margin-bottom:.6rem}
figure{margin:0;min-width:0}figure svg{display:block;width:100%;height:auto;max-width:36rem}
.scroll{overflow-x:auto;border-radius:.4rem;
background:linear-gradient(to left,var(--paper) 1.5rem,transparent 4rem) right/4rem 100% no-repeat local,
linear-gradient(to left,var(--edge),transparent) right/1rem 100% no-repeat scroll,var(--paper)}
.scroll:focus-visible,a:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.45rem .7rem;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:middle}
thead th{color:var(--soft);font-weight:600;font-size:.8rem;white-space:normal;vertical-align:bottom}
tbody th{font-weight:600;position:sticky;left:0;background:var(--paper)}
tbody tr:last-child>*{border-bottom:0}
.results td:nth-child(3){white-space:normal;min-width:7rem;max-width:11rem;overflow-wrap:anywhere}
.number{text-align:right}.results thead th:nth-child(n+4){text-align:right}
.number.bad{color:var(--bad);font-weight:700}
.overview td,.overview thead th:not(:first-child),.matrix td,.matrix thead th{text-align:center}
.overview{border:1px solid var(--line)}.matrix{border:1px solid var(--line)}
.chip{display:inline-flex;align-items:center;gap:.35em;padding:.08rem .55rem;border-radius:1rem;font-weight:600;
font-size:.82rem;
background:var(--mute-bg);color:var(--mute)}
.chip.certified{background:var(--good-bg);color:var(--good)}.chip.inaccurate{background:var(--fair-bg);
color:var(--fair)}
.chip.violated-privacy,.chip.failed{background:var(--bad-bg);color:var(--bad)}
.count{display:block}.apart{display:block;color:var(--soft);font-size:.8rem}
.agree .count{color:var(--good);font-weight:600}.disagree{background:var(--bad-bg)}.disagree .count{color:var(--bad);
font-weight:700}
.none{color:var(--soft)}
.remarks{margin:.8rem 0 0;padding-left:1.1rem;color:var(--soft);font-size:.88rem;overflow-wrap:anywhere}
details{margin-top:.8rem}summary{cursor:pointer;color:var(--link)}
.legend{margin:.6rem 0 0;display:grid;gap:.4rem}.legend div{display:grid;grid-template-columns:10.5rem 1fr;gap:.6rem}
.legend dd{margin:0}
a{color:var(--link)}footer{color:var(--soft);font-size:.85rem;padding-top:1.5rem;padding-bottom:3rem;
overflow-wrap:anywhere}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem 1rem;z-index:2}
@media (max-width:34rem){header,main,footer{padding-left:.8rem;padding-right:.8rem}article{padding:.9rem .7rem}
.legend div{grid-template-columns:1fr;gap:.1rem}.overview tbody th{white-space:normal;min-width:9.5rem}}
@media print{body{background:none}.scroll{overflow:visible}article{break-inside:avoid}.skip{display:none}}
"""
