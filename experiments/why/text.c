/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report for people and as JSON. */
#include "experiments/why/why.h"

#include "experiments/base/json.h"
#include "experiments/base/numbers.h"
#include "experiments/base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *words;
} figure_words[] = {
  { "reached", "missing part of the run" },
  { "unsolved", "unsolved problems (share)" },
  { "energy.rel.max", "error of the energy (relative)" },
  { "energy.gain.rel", "gain of energy (relative)" },
  { "momentum.lin.max", "error of the momentum (relative)" },
  { "momentum.ang.max", "error of the angular momentum (relative)" },
  { "drift.pos.max", "constraint error [m]" },
  { "pen.max", "penetration [m]" },
  { "err.q.max", "error of coordinates (relative)" },
};

static const char *text_words(const char *name)
{
  for (size_t i = 0; i < sizeof figure_words / sizeof *figure_words; i++)
    if (strcmp(figure_words[i].name, name) == 0) return figure_words[i].words;
  return name;
}

static double text_value(const perp_why_evidence *e, const char *name)
{
  for (int i = 0; i < e->n_figures; i++)
    if (strcmp(e->figure[i].name, name) == 0) return e->figure[i].value;
  return (double)NAN;
}

/* Figures that failed in `before`, or fail in `after`. */
static void text_figures(const perp_why_evidence *before, const perp_why_evidence *after, FILE *out)
{
  perp_table table;
  char a[32], b[32], limit[32];
  perp_table_init(&table, "lrrr");
  perp_table_row(&table, (const char *const[]){ "figure", "limit", "before", "after" });
  const perp_why_evidence *from[] = { before, after };
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < from[k]->n_figures; i++) {
      const perp_why_figure *f = &from[k]->figure[i];
      const double was = text_value(before, f->name), is = text_value(after, f->name);
      if (!(f->value > f->limit) || (k == 1 && was > f->limit)) continue;
      perp_table_row(&table,
                     (const char *const[]){ text_words(f->name), perp_number(f->limit, limit),
                                            perp_number(was, a), perp_number(is, b) });
    }
  char *lines;
  size_t size;
  FILE *stream = perp_memory_stream(&lines, &size);
  perp_table_print(&table, stream);
  perp_memory_stream_close(stream);
  for (char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
    fprintf(out, "         %.*s\n", (int)(end - line), line);
  free(lines);
  perp_table_free(&table);
}

static void text_failure(const perp_why_evidence *e, FILE *out)
{
  perp_text text = { 0 };
  char value[32], limit[32];
  if (e->t_end > 0)
    perp_text_add(&text, "%s (%s) at t = %.4g s of %.4g s", e->ended, e->why, e->t, e->t_end);
  else
    perp_text_add(&text, "%s (%s)", e->ended, e->why);
  perp_wrap_after(out, "status   ", 9, text.s);
  if (e->message[0] != '\0') perp_wrap_after(out, "         ", 9, e->message);
  for (int i = 0; i < e->n_figures; i++) {
    const perp_why_figure *f = &e->figure[i];
    if (!(f->value > f->limit) || strcmp(f->name, "reached") == 0) continue;
    perp_wrapf(out, 9, "%s: %s, above %s", text_words(f->name), perp_number(f->value, value),
               perp_number(f->limit, limit));
  }
  perp_text_free(&text);
}

void perp_why_print(const perp_why_subject *subject, const perp_why_report *r, FILE *out)
{
  perp_text text = { 0 };
  perp_why_command(subject, &text);
  perp_wrap_after(out, "run      ", 9, text.s);
  text_failure(r->first, out);
  if (!r->failed) {
    perp_wrap_after(out, "result   ", 9,
                    subject->problem != NULL
                        ? "The problem was solved: there is nothing to explain."
                        : "The run did not fail: it reached its end, and no figure is above its "
                          "limit.");
    perp_text_free(&text);
    return;
  }
  const perp_why_evidence *before = r->first;
  int round = 0;
  for (int i = 0; i < r->n_named; i++) {
    const perp_why_cause *c = &r->cause[i];
    if (c->round != round) before = r->cause[i - 1].fix[0]->after;
    round = c->round;
    fprintf(out, "\ncause %d  %s (%s)\n", i + 1, c->d->title, c->d->name);
    perp_wrap_after(out, "         ", 9, c->says);
    for (int k = 0; k < c->n_fixes && k < 2 && (k == 0 || c->fix[k]->whole); k++) {
      char *line = perp_xprintf("%s%s", c->fix[k]->options,
                                c->fix[k]->whole ? "" : "  (a part of the fix)");
      perp_wrap_after(out, k == 0 ? "fix      " : "or       ", 9, line);
      free(line);
      if (k == 0) text_figures(before, c->fix[k]->after, out);
    }
    if (c->n_fixes == 0)
      perp_wrap_after(out, "fix      ", 9,
                      subject->problem != NULL
                          ? "None: no solver can solve it. Change the problem."
                          : "None of the options tried fixes it. Change the scene.");
  }
  for (int i = r->n_named; i < r->n_causes; i++) {
    const perp_why_cause *c = &r->cause[i];
    fprintf(out, "\nmeasured %s (%s)\n", c->d->title, c->d->name);
    perp_wrap_after(out, "         ", 9, c->says);
    if (c->tried > 0)
      perp_wrapf(out, 9, "None of the %d options tried for it alone fixes the run.", c->tried);
    else
      perp_wrapf(out, 9, "No option is known to fix it.");
  }
  putc('\n', out);
  text.n = 0;
  if (r->last != NULL) {
    perp_why_command(&r->last->with, &text);
    perp_wrap_after(out, r->fixed ? "works    " : "better   ", 9, text.s);
  }
  if (r->n_causes == 0)
    perp_wrap_after(out, "result   ", 9, "The run failed, and no cause was found by measurement.");
  else if (r->n_named == 0)
    perp_wrap_after(out, "result   ", 9, "The run failed, and none of the options tried fixes it.");
  else if (!r->fixed)
    perp_wrap_after(out, "result   ", 9, "The options help, but the run with them still fails.");
  perp_wrapf(out, 9, "%d runs were made in %.3g s%s.", r->trials + 1, r->seconds,
             r->left > 0 ? ", and some options were not tried for want of time (--within)" : "");
  perp_text_free(&text);
}

/* ---- JSON ---- */

static void text_json_figures(perp_json *json, const char *key, const perp_why_evidence *e)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < e->n_figures; i++)
    perp_json_object(json, NULL, "name %s, value %g, limit %g, fails? %d", e->figure[i].name,
                     e->figure[i].value, e->figure[i].limit,
                     e->figure[i].value > e->figure[i].limit);
  perp_json_close(json, ']');
}

static void text_json_places(perp_json *json, const char *key, const perp_why_places *p)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < p->n; i++) perp_json_text(json, NULL, p->at[i]);
  perp_json_close(json, ']');
}

static void text_json_evidence(perp_json *json, const perp_why_evidence *e)
{
  perp_json_open(json, "evidence", '{');
  if (e->jacobian.states > 0) {
    perp_json_open(json, "jacobian", '{');
    perp_json_members(json,
                      "rows %d, rank_least %d, rank_most %d, t_rank_least %g, sine_least %g, "
                      "t_sine_least %g, sine_at_failure %g, condition %g, condition_scaled %g",
                      e->jacobian.m, e->jacobian.least, e->jacobian.most, e->jacobian.t_least,
                      e->jacobian.sine, e->jacobian.t_sine, e->jacobian.sine_fail,
                      e->jacobian.condition, e->jacobian.scaled);
    text_json_places(json, "joints", &e->jacobian.rows);
    perp_json_close(json, '}');
  }
  if (e->contact.examined > 0) {
    perp_json_open(json, "contacts", '{');
    perp_json_members(json,
                      "examined %d, without_solution %d, without_solution_within %d, rows %d, "
                      "rank %d, condition %g, condition_scaled %g",
                      e->contact.examined, e->contact.infeasible, e->contact.within, e->contact.n,
                      e->contact.rank, e->contact.condition, e->contact.scaled);
    text_json_places(json, "pairs", &e->contact.pairs);
    perp_json_close(json, '}');
  }
  if (e->linear.known || e->linear.rates) {
    perp_json_open(json, "linearized", '{');
    if (e->linear.known)
      perp_json_members(json, "eigenvalue %g, growth_of_motion %g, t %g, violation %g",
                        exp(e->linear.growth), exp(e->linear.motion), e->linear.t, e->linear.off);
    if (e->linear.rates)
      perp_json_members(json, "rate_fastest %g, rate_slowest %g", e->linear.fast, e->linear.slow);
    perp_json_close(json, '}');
  }
  perp_json_members(json, "mass_ratio %g, problems %lld, unsolved %lld", e->masses,
                    (long long)e->problems, (long long)e->failures);
  perp_json_reals(json, "drift_by_quarter", e->drift, PERP_WHY_QUARTERS);
  perp_json_close(json, '}');
}

static void text_json_cause(perp_json *json, const perp_why_cause *c)
{
  perp_json_open(json, NULL, '{');
  perp_json_members(json, "cause %s, title %s, says %s, round %d, tried %d", c->d->name,
                    c->d->title, c->says, c->round + 1, c->tried);
  perp_json_open(json, "fixes", '[');
  for (int k = 0; k < c->n_fixes; k++) {
    perp_text command = { 0 };
    perp_why_command(&c->fix[k]->with, &command);
    perp_json_open(json, NULL, '{');
    perp_json_members(json, "options %s, command %s, whole? %d, status %s, reason %s, cpu_s %g",
                      c->fix[k]->options, command.s, (int)c->fix[k]->whole, c->fix[k]->after->ended,
                      c->fix[k]->after->why, c->fix[k]->after->cpu);
    text_json_figures(json, "after", c->fix[k]->after);
    perp_json_close(json, '}');
    perp_text_free(&command);
  }
  perp_json_close(json, ']');
  perp_json_close(json, '}');
}

void perp_why_json(const perp_why_subject *subject, const perp_why_report *r, FILE *out)
{
  perp_json json = { .out = out, .indent = true };
  perp_text command = { 0 };
  const perp_why_evidence *e = r->first;
  perp_why_command(subject, &command);
  perp_json_open(&json, NULL, '{');
  perp_json_members(&json,
                    "run %s, failed? %d, fixed? %d, status %s, reason %s, message %s, t %g, "
                    "t_end %g, h %g",
                    command.s, (int)r->failed, (int)r->fixed, e->ended, e->why, e->message, e->t,
                    e->t_end, e->h);
  text_json_figures(&json, "figures", e);
  if (r->failed) text_json_evidence(&json, e);
  for (int part = 0; part < 2; part++) {
    perp_json_open(&json, part == 0 ? "causes" : "unfixed", '[');
    for (int i = part == 0 ? 0 : r->n_named; i < (part == 0 ? r->n_named : r->n_causes); i++)
      text_json_cause(&json, &r->cause[i]);
    perp_json_close(&json, ']');
  }
  if (r->last != NULL) {
    command.n = 0;
    perp_why_command(&r->last->with, &command);
    perp_json_text(&json, r->fixed ? "works" : "better", command.s);
  }
  perp_json_members(&json, "runs %d, not_tried %d, seconds %g", r->trials + 1, r->left, r->seconds);
  perp_json_close(&json, '}');
  putc('\n', out);
  perp_text_free(&command);
}
