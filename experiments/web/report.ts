// SPDX-License-Identifier: GPL-3.0-or-later
// The sections of a report that are text and tables: what the program has found out (experiments/report/findings.c), laid out.
import { brief, real } from './data';
import { checkbox, h, scroll, th } from './dom';
import { equation } from './equations';

const note = (...content) => h('p', { class: 'note' }, content);
const code = (text) => h('code', {}, text);
const small = (text, kind = null) => [h('br'), h('small', { class: kind }, text)];
const measure = (v) => brief(typeof v === 'number' ? Number(v.toPrecision(3)) : real(v));
const table = (name, head, rows, kind = null) => scroll(name, h('table', { class: kind, 'aria-label': name }, h('tr', {}, head), rows.map((r) => h('tr', {}, r))));
const td = (kind, ...content) => h('td', { class: kind || null }, content);
const fold = (summary, ...content) => h('details', {}, h('summary', {}, summary), content);
// "0.785398" in place of "0.7853981633974483": options need not be read back here
const briefScene = (text) => text.replace(/[\d.]{9,}/g, (t) => t.slice(0, 8)).replaceAll(',', ', ');

// ---- answers -----------------------------------------------------------------------------------------------------

const COLUMNS_MOST = 16, COLUMNS_FIRST = 6;

// The comparisons behind an answer: a row for each competitor where they are few, else one for each comparison.
function answerTable(a) {
  if (a.lines.length === 0 || a.who.length < 2) return null;
  const columns = a.lines.length <= COLUMNS_MOST;
  return fold(`${a.lines.length} comparison${a.lines.length === 1 ? '' : 's'} of ${a.who.length} competitors`, columns
    ? table(a.ask || 'Comparisons', [th(a.by), a.lines.map((l) => th(`${l.brief}${l.limit ? ' ' : ''}${l.limit}`, 'n'))],
      a.who.map((who, k) => [td('', code(who)), a.lines.map((l) => td(`n ${l.entries[k].class}`.trim(), l.entries[k].text))]))
    : table(a.ask || 'Comparisons', [th(a.apart_by), th('at'), th('best'), th('value', 'n'), th('next'), th('value', 'n')],
      a.lines.map((l) => [td('', l.apart), h('td', { title: l.condition }, l.words), td('text', l.who || '-'), td('n', a.counted ? String(real(l.value) || 0) : measure(l.value)), td('', l.second), td('n', measure(l.next))])));
}

function counts(d) {
  const list = Object.entries(d.counts).map(([status, n]) => `${n} ${status}${status === 'ok' && d.proved > 0 ? ` (${d.proved} of these proved that no solution exists)` : ''}`);
  return [
    note(`${d.n} runs: ${list.join(', ')}.${d.accept_unsolved > 0 ? ` The study lets a run win with up to ${measure(100 * d.accept_unsolved)} % of unsolved problems.` : ''}`),
    d.schema_1 > 0 && h('p', { class: 'note mark' }, `${d.schema_1} runs have results of schema 1, in which ok means that the run reached its end, not that all of its problems were solved.`),
  ];
}

function symptoms(s) {
  if (!s) return null;
  const entry = (e) => td(`n ${e.class}`.trim(),
    e.measured ? (e.value === 'inf' ? 'never' : brief(Number(real(e.value).toPrecision(2)))) : h('small', {}, `${e.verdict}${e.class === 'mark' && e.why ? `: ${e.why}` : ''}`),
    e.shown && small('shows it'), e.depends && small(`from ${measure(e.least)}; shown in ${e.showing} of ${e.runs} runs`), e.unsolved && small('unsolved', 'mark'));
  return [
    h('h3', { id: 'symptoms' }, 'Reported problems and where they occur'),
    note('A run ', h('span', { class: 'bad' }, 'shows'), ' the problem if its value exceeds the bound of the row. If only some of the equivalent runs show it, the entry has the largest and the smallest value. ', h('em', {}, 'Unsuited'), ': the method lacks a feature that the scene requires. Empty: not tested.'),
    table('Reported problems and where they occur', [th('reported problem, engine and bound', 'head'), s.columns.map((c) => th(c.name, 'n'))],
      s.rows.map((r) => [td('text', r.text, h('br'), r.of, r.of && ', ', r.link ? h('a', { href: r.link }, r.source) : r.source, h('br'), code(r.bound)), r.entries.map(entry)]), 'tight'),
    h('dl', {}, s.columns.flatMap((c) => [h('dt', {}, code(c.name)), h('dd', {}, c.text)])),
  ];
}

function replicate(papers) {
  if (!papers) return null;
  const line = (name, text, wrap = (t) => t) => text && h('p', {}, `${name}: `, wrap(text));
  return [
    h('h3', { id: 'replicate' }, 'Statements of the documents'),
    note(h('em', {}, 'Reproduced'), ': within the reading error or the factor of the row. ', h('em', {}, 'Contradicted'), ': outside of it, and the evidence of the row holds. ', h('em', {}, 'Undetermined'),
      ': a condition is missing in the document, or a method in perp. ', h('em', {}, 'Refuted'), ': the verdict that the study declares is not the one of the runs.'),
    papers.map((p) => [h('h4', {}, p.paper), h('p', {}, `${p.count}.`), table(p.paper, [th('statement'), th('stated', 'n'), th('perp', 'n'), th('verdict')],
      p.rows.map((r) => [
        td('text', r.at, h('br'), r.states, fold('conditions', line('Printed', r.printed), line('Derived', r.derived), line('Reading', r.reading), line('Missing', r.missing),
          line('Test', r.test, code), line('Evidence', r.evidence, code), line('Wrong condition, which must fail', r.wrong_condition, code))),
        td('n', r.stated), td('n', r.measured), td(r.class, r.verdict, !r.confirmed && small(`declared ${r.declared}, but ${r.why}`)),
      ]), 'tight')]),
  ];
}

// What the study found: three sentences, the others and what they rest on folded below the figure.
function findings(d) {
  const list = (lead) => h('ul', {}, d.findings.filter((f) => f.lead === lead).map((f) => h('li', {}, f.text)));
  return h('div', { class: 'answer' }, list(true), d.findings.some((f) => !f.lead) && fold('More findings', list(false)));
}

// top: what stands below the findings
function answers(d, top) {
  const best = d.variants.find((v) => v.factor !== undefined);
  return [
    h('h2', { class: 'unseen' }, 'Findings'), findings(d), top, fold('How we know', [d.findings.filter((f) => f.basis).map((f) => note(f.basis)), h('ul', {},
      d.answers.map((a) => h('li', {}, a.ask && [h('strong', {}, a.ask), h('br')], h('span', { title: a.asked }, a.text),
        (a.basis || a.note) && [' ', h('small', { class: 'note' }, [a.basis, a.note].filter((t) => t).join(' '))], answerTable(a))),
      best && d.variants[0] === best && h('li', {}, 'Closest to the published values: ', h('strong', {}, best.label), `, which differs by a factor of ${measure(best.factor)} on average (geometric mean; a failed run counts as 100).`)),
    d.left_out && note(d.left_out)]), counts(d),
    symptoms(d.symptoms), replicate(d.replicate),
    d.claims.length > 0 && [h('h3', {}, 'Claims'), table('Claims', [th('claim'), th('verdict'), th('measured', 'n')],
      d.claims.map((c) => [td('wrap', c.text, fold('test', code(c.test))), td(c.proved ? 'good' : 'bad', c.verdict, c.sides), td('n', measure(c.measured))]))],
  ];
}

// ---- tables of runs ------------------------------------------------------------------------------------------------

function summary(d) {
  const s = d.summary;
  if (!s) return null;
  // what fits a page first, the other columns by choice
  const rest = (k) => (k >= COLUMNS_FIRST ? ' rest' : '');
  const field = table('Summary', [th('combination'), s.metrics.map((m, k) => th(d.title(m), `n head${rest(k)}`, m))],
    s.rows.map((r) => [td('', r.label, r.mark && [' ', h('small', { class: 'mark' }, r.mark)]), r.values.map((v, k) => td(`n${r.best[k] ? ' best' : ''}${rest(k)}`, measure(v)))]), 'some');
  const more = s.metrics.length > COLUMNS_FIRST && checkbox(`all ${s.metrics.length} columns`, false, (on) => field.querySelector('table').classList.toggle('some', !on));
  return [
    h('h2', { id: 'summary' }, 'Summary'),
    note(`All combinations${s.constant ? ` with ${s.constant}` : ''}, sorted by the ${d.words(d.study.primary)} for each scene${s.abscissa ? `, at ${s.abscissa} = ${measure(s.x)} (methods with error control: at their tolerance)` : ''}${s.complete ? '' : `; the first ${s.rows.length} are shown`}. Green: the best of the scene, and what is equal to it within rounding or the uncertainty of the reference. Runs with a status other than ok are listed last and cannot be the best.`),
    more, field,
  ];
}

function published(d) {
  if (d.published.length === 0) return null;
  return [
    h('h2', { id: 'published' }, 'Published values and ours'),
    note('Each row is one choice of the methods that the source does not specify; the best match is first. Mismatch: geometric mean of the ratio between our value and the published one, at least 1. A failed or unsolved run counts as 100.'),
    table('Published values and ours', [th('variant'), th('mismatch', 'n'), d.published.map((p) => h('th', { class: 'n wrap', scope: 'col', title: p.metric }, p.source, h('br'), code(p.where), h('br'), p.words))], [
      [td('', h('strong', {}, 'published')), td(''), d.published.map((p) => td('n', h('strong', {}, measure(p.value))))],
      ...d.variants.map((v) => [td('', v.label), td('n', v.factor === undefined ? '–' : `× ${measure(v.factor)}`), v.values.map((x) => (typeof x === 'string' && x !== 'inf' && x !== '-inf' ? td('n bad', x) : td('n', measure(x))))]),
    ]),
  ];
}

const SCENES_LEAST = 3, SCENES_MOST = 60, ROWS_MOST = 200;
// Studies of several scenes without an abscissa: the primary figure of each run, or why there is none.
function scenes(d) {
  const a = d.axis.scene;
  if (!a || d.view.x_name || a.values.length < SCENES_LEAST) return null;
  const rows = new Map(), list = a.values.slice(0, SCENES_MOST);
  for (let c = 0; c < d.n; c++) {
    const label = d.label(c, ['scene']);
    if (!rows.has(label) && rows.size < ROWS_MOST) rows.set(label, new Map());
    rows.get(label)?.set(a.of[c], c);
  }
  if (rows.size < 2) return null;
  const field = (c) => (c === undefined ? td('')
    : !d.stands(c) ? td(d.unsuited(c) ? 'unsuited' : 'bad', d.cells.reason[c] || d.cells.status[c])
      : td('n', measure(d.value(c, d.study.primary)), d.mark(c) && small(d.mark(c), 'mark')));
  return [
    h('h2', { id: 'scenes' }, 'Results on each scene'),
    note(`Value of the ${d.title(d.study.primary)} for each run, or the cause of its absence. `, h('em', {}, 'unsolved'), ': share of problems left unsolved. ', h('em', {}, 'fixed-work'), ': the run used a fixed number of sweeps. ', h('em', {}, 'several solutions'), ': others have another motion.'),
    table('Results on each scene', [th(''), list.map((s) => th(briefScene(s), 'head'))], [...rows].map(([label, at]) => [td('', code(label)), list.map((_, k) => field(at.get(k)))])),
  ];
}

// Like things counted, the most frequent first: [key, how many, the first].
function tally(list, key) {
  const all = new Map();
  for (const v of list) {
    const k = key(v);
    if (!all.has(k)) all.set(k, [k, 0, v]);
    all.get(k)[1]++;
  }
  return [...all.values()].sort((x, y) => y[1] - x[1]);
}

const kindOf = (d, c) => (d.cells.status[c] === 'ok' ? (d.cells.reason[c] === 'infeasible' ? 'good' : '') : d.unsuited(c) ? 'unsuited' : d.stands(c) ? 'mark' : 'bad');

function endings(d) {
  const e = d.endings;
  if (!e) return null;
  const at = (row, scene) => e.fields[row * e.scenes.length + scene];
  const field = (a) => (a ? h('td', { class: a.status === 'ok' ? 'good' : kindOf(d, a.run), title: d.cells.cause[a.run] }, a.status, a.n < a.of && small(`${a.n} of ${a.of}`)) : td(''));
  const failed = e.fields.map((a, k) => ({ a, k })).filter(({ a }) => a?.failed);
  const causes = tally(failed, ({ a }) => `${a.status}: ${d.cells.cause[a.run] || d.cells.reason[a.run]}`);
  return [
    h('h2', { id: 'endings' }, 'Outcome on each scene'),
    note(`Each field shows the worst outcome of the runs of one ${e.part} on one scene, and their number. Point at a field to see the cause. `, h('em', {}, 'Unsuited'), ': the scene is outside the domain of the method; this is not a failure.'),
    table('Outcome on each scene', [th(''), e.scenes.map((s) => th(briefScene(s), 'head'))], e.rows.map((row, r) => [td('', code(row)), e.scenes.map((_, s) => field(at(r, s)))])),
    causes.length > 0 && fold(`${causes.length} ${causes.length === 1 ? 'cause' : 'causes'}`, table('Causes', [th('fields', 'n'), th('cause'), th('first example')],
      causes.map(([text, n, { k }]) => [td('n', String(n)), td('wrap', text), td('', code(e.rows[Math.floor(k / e.scenes.length)]), ' on ', code(briefScene(e.scenes[k % e.scenes.length])))]))),
  ];
}

function warned(d) {
  if (d.warnings.length === 0) return null;
  return [
    h('h2', { id: 'warned' }, 'Warnings'),
    note('A run with a warning may be ok: it reached its end, but its figures show a loss that the status does not say.'),
    table('Warnings', [th('runs', 'n'), th('warning'), th('first example')], d.warnings.map((w) => [td('n', String(w.n)), td('wrap', w.text), td('', code(d.cells.id[w.run]))])),
  ];
}

const FEW = 12, SHOWN = 1000;

function failures(d) {
  const all = Array.from({ length: d.n }, (_, c) => c), with_ = (status) => all.filter((c) => d.cells.status[c] === status).length;
  const fixed = with_('fixed-work'), unsuited = with_('unsuited'), failed = all.filter((c) => !['ok', 'unsuited', 'fixed-work'].includes(d.cells.status[c]));
  const subject = (c) => d.text(c, d.axis.problem && d.axis.lcp ? 'lcp' : d.view.subject ?? '');
  const few = failed.length <= FEW, list = table('Failed runs', [th('run'), th('combination'), th('status'), th('reason'), th('cause')],
    failed.slice(0, SHOWN).map((c) => [td('', code(d.cells.id[c])), td('', d.label(c) || 'the only run'), td(kindOf(d, c), d.cells.status[c]), td('', d.cells.reason[c]), td('wrap', d.cells.cause[c])]));
  return [
    h('h2', { id: 'failures' }, 'Failures'),
    fixed > 0 && note(`${fixed} runs used a fixed number of sweeps (`, h('span', { class: 'mark' }, 'fixed-work'), '). Their residual is their result; no problem counts as solved.'),
    unsuited > 0 && note(`${unsuited} runs are `, h('span', { class: 'unsuited' }, 'unsuited'), ': outside the domain that the method declares. They do not count as failures.'),
    failed.length === 0
      ? h('p', {}, d.schema_1 > 0 ? 'No failure is recorded: every run reached its end. Results of schema 1 do not say whether all problems were solved.'
        : `No failures: every ${fixed > 0 ? 'other ' : ''}run reached its end and solved all problems.`)
      : [
        note('A ', h('span', { class: 'bad' }, 'failed'), ' run has no results. An ', h('span', { class: 'mark' }, 'unsolved'), ' run left some problems unsolved; one with ', h('span', { class: 'mark' }, 'several solutions'),
          ' has a motion that others do not have. The values of both are shown with a mark and cannot win. The values of a run that stopped early are those up to that time.'),
        few ? list : [
          table('Failures by reason', [th('runs', 'n'), th('of'), th('status'), th('reason'), th('example')], tally(failed, (c) => `${d.cells.status[c]} ${d.cells.reason[c]} ${subject(c)}`)
            .map(([, n, c]) => [td('n', String(n)), td('', code(subject(c))), td(kindOf(d, c), d.cells.status[c]), td('', d.cells.reason[c]), td('wrap', d.cells.cause[c], ' (', code(d.cells.id[c]), ')')])),
          fold(`${failed.length > SHOWN ? `the first ${SHOWN}` : `all ${failed.length}`} of these runs`, list)],
      ],
  ];
}

// ---- what was used ---------------------------------------------------------------------------------------------------

const methods = (d) => d.methods.length > 0 && [
  h('h2', { id: 'methods' }, 'Methods of this study'),
  d.methods.map((m) => fold([code(`${m.kind} ${m.name}`), ` – ${m.summary}`], m.equation && equation(m.equation, m.kind), note(`Source: ${m.reference}`),
    m.options.length > 0 && table(`Options of ${m.name}`, [th('option'), th('range'), th('unit'), th('meaning')], m.options.map((o) => [td('', code(o.key)), td('', o.range), td('', o.unit), td('', o.help)])))),
];

const definitions = (d) => [
  h('h2', { id: 'definitions' }, 'Definitions'),
  h('dl', {}, d.definitions.flatMap((m) => [h('dt', {}, code(m.name)), h('dd', {}, m.meaning, m.unit && ` [${m.unit}]`, m.comparisons && `. Comparisons in a run: ${measure(m.comparisons[0])} to ${measure(m.comparisons[1])}`)]),
    h('dt', {}, code('time.step_us')), h('dd', {}, 'Mean thread CPU time of one step, without the computation of metrics [us]')),
];

const environment = (d) => [
  h('h2', { id: 'environment' }, 'Environment'),
  d.environment.map((env) => h('dl', {}, Object.entries(env).flatMap(([key, v]) => [h('dt', {}, key), h('dd', {}, typeof v === 'string' ? v : JSON.stringify(v))]))),
  d.study_file && fold('The study as it was run', h('pre', {}, d.study_file)),
];

// ---- the page ------------------------------------------------------------------------------------------------------

const links = { summary: 'Summary', published: 'Published values', problems: 'Solvers', scenes: 'Scenes', endings: 'Outcomes', curves: 'Figures', series: 'Over time', replay: 'Replay', warned: 'Warnings', failures: 'Failures', cells: 'All runs', methods: 'Methods', definitions: 'Definitions', environment: 'Environment' };

// live: headings and figures of the interactive sections, by name: [heading, figures]
export function report(d, live) {
  const files = (name) => {
    const all = d.figures.filter((f) => f.section === name), list = all.filter((f) => !f.empty);
    return all.length > 0 && h('details', { class: 'note files' }, h('summary', {}, 'the same as gnuplot draws it, for a document'),
      list.length > 0 && h('p', {}, list.flatMap((f) => d.formats.map((kind) => [h('a', { href: `${d.figs}/${f.id}.${kind}` }, `${f.id}.${kind}`), ' '])), '. perp report DIR --figs pdf --width column draws them as PDF, 8.4 cm wide.'),
      all.filter((f) => f.empty).map((f) => h('p', {}, `${f.title}: not drawn, as ${f.empty}.`)));
  };
  const interactive = (name) => {
    const [heading, figures, ...more] = live[name];
    if (figures.length === 0) return null;
    return [h('h2', { id: name }, heading), more, figures.map((f) => f.element), files(name)];
  };
  const content = {
    unlike: d.unlike && [h('p', { class: 'note mark' }, 'The parts of these results were computed under different conditions, which may explain differences between runs:'), h('pre', {}, d.unlike)],
    answers: answers(d, [live.headline[1].map((f) => f.element), files('headline')]), summary: summary(d), published: published(d), problems: interactive('problems'), scenes: scenes(d), endings: endings(d), curves: interactive('curves'),
    series: interactive('series'), replay: interactive('replay'), warned: warned(d), failures: failures(d), cells: interactive('cells'), methods: methods(d), definitions: definitions(d),
    environment: environment(d), warnings: d.undrawn && [h('h2', {}, 'Figures that were not drawn'), h('pre', {}, d.undrawn)],
  };
  document.body.append(
    h('header', { id: 's-header' }, h('h1', {}, d.study.title), h('p', { class: 'question' }, d.study.question),
      h('nav', { 'aria-label': 'sections' }, Object.entries(links).filter(([name]) => content[name]).map(([name, words]) => h('a', { href: `#${name}` }, words))),
      d.study.profile && note('Study ', code(d.study.name), ', profile ', code(d.study.profile), '.')),
    h('main', {}, Object.entries(content).filter(([, list]) => list).map(([name, list]) => h('section', { id: `s-${name}` }, list))));
}
