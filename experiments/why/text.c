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

static double text_value(const perp_why_evidence *evidence, const char *name)
{
  for (int figure = 0; figure < evidence->n_figures; figure++)
    if (strcmp(evidence->figure[figure].name, name) == 0) return evidence->figure[figure].value;
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
    for (int figure = 0; figure < from[k]->n_figures; figure++) {
      const perp_why_figure *why_figure = &from[k]->figure[figure];
      const double was = text_value(before, why_figure->name),
                   is = text_value(after, why_figure->name);
      if (!(why_figure->value > why_figure->limit) || (k == 1 && was > why_figure->limit)) continue;
      perp_table_row(&table, (const char *const[]){ text_words(why_figure->name),
                                                    perp_number(why_figure->limit, limit),
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

static void text_failure(const perp_why_evidence *evidence, FILE *out)
{
  perp_text text = { 0 };
  char value[32], limit[32];
  if (evidence->t_end > 0)
    perp_text_add(&text, "%s (%s) at t = %.4g s of %.4g s", evidence->ended, evidence->why,
                  evidence->t, evidence->t_end);
  else
    perp_text_add(&text, "%s (%s)", evidence->ended, evidence->why);
  perp_wrap_after(out, "status   ", 9, text.s);
  if (evidence->message[0] != '\0') perp_wrap_after(out, "         ", 9, evidence->message);
  for (int figure = 0; figure < evidence->n_figures; figure++) {
    const perp_why_figure *why_figure = &evidence->figure[figure];
    if (!(why_figure->value > why_figure->limit) || strcmp(why_figure->name, "reached") == 0)
      continue;
    perp_wrapf(out, 9, "%s: %s, above %s", text_words(why_figure->name),
               perp_number(why_figure->value, value), perp_number(why_figure->limit, limit));
  }
  perp_text_free(&text);
}

void perp_why_print(const perp_why_subject *subject, const perp_why_report *report, FILE *out)
{
  perp_text text = { 0 };
  perp_why_command(subject, &text);
  perp_wrap_after(out, "run      ", 9, text.s);
  text_failure(report->first, out);
  if (!report->failed) {
    perp_wrap_after(out, "result   ", 9,
                    subject->problem != NULL
                        ? "The problem was solved: there is nothing to explain."
                        : "The run did not fail: it reached its end, and no figure is above its "
                          "limit.");
    perp_text_free(&text);
    return;
  }
  const perp_why_evidence *before = report->first;
  int round = 0;
  for (int i = 0; i < report->n_named; i++) {
    const perp_why_cause *cause = &report->cause[i];
    if (cause->round != round) before = report->cause[i - 1].fix[0]->after;
    round = cause->round;
    fprintf(out, "\ncause %d  %s (%s)\n", i + 1, cause->d->title, cause->d->name);
    perp_wrap_after(out, "         ", 9, cause->says);
    for (int k = 0; k < cause->n_fixes && k < 2 && (k == 0 || cause->fix[k]->whole); k++) {
      char *line = perp_xprintf("%s%s", cause->fix[k]->options,
                                cause->fix[k]->whole ? "" : "  (a part of the fix)");
      perp_wrap_after(out, k == 0 ? "fix      " : "or       ", 9, line);
      free(line);
      if (k == 0) text_figures(before, cause->fix[k]->after, out);
    }
    if (cause->n_fixes == 0)
      perp_wrap_after(out, "fix      ", 9,
                      subject->problem != NULL
                          ? "None: no solver can solve it. Change the problem."
                          : "None of the options tried fixes it. Change the scene.");
  }
  for (int i = report->n_named; i < report->n_causes; i++) {
    const perp_why_cause *cause = &report->cause[i];
    fprintf(out, "\nmeasured %s (%s)\n", cause->d->title, cause->d->name);
    perp_wrap_after(out, "         ", 9, cause->says);
    if (cause->tried > 0)
      perp_wrapf(out, 9, "None of the %d options tried for it alone fixes the run.", cause->tried);
    else
      perp_wrapf(out, 9, "No option is known to fix it.");
  }
  putc('\n', out);
  text.n = 0;
  if (report->last != NULL) {
    perp_why_command(&report->last->with, &text);
    perp_wrap_after(out, report->fixed ? "works    " : "better   ", 9, text.s);
  }
  if (report->n_causes == 0)
    perp_wrap_after(out, "result   ", 9, "The run failed, and no cause was found by measurement.");
  else if (report->n_named == 0)
    perp_wrap_after(out, "result   ", 9, "The run failed, and none of the options tried fixes it.");
  else if (!report->fixed)
    perp_wrap_after(out, "result   ", 9, "The options help, but the run with them still fails.");
  perp_wrapf(out, 9, "%d runs were made in %.3g s%s.", report->trials + 1, report->seconds,
             report->left > 0 ? ", and some options were not tried for want of time (--within)"
                              : "");
  perp_text_free(&text);
}

/* ---- JSON ---- */

static void text_json_figures(perp_json *json, const char *key, const perp_why_evidence *evidence)
{
  perp_json_open(json, key, '[');
  for (int figure = 0; figure < evidence->n_figures; figure++)
    perp_json_object(json, NULL, "name %s, value %g, limit %g, fails? %d",
                     evidence->figure[figure].name, evidence->figure[figure].value,
                     evidence->figure[figure].limit,
                     evidence->figure[figure].value > evidence->figure[figure].limit);
  perp_json_close(json, ']');
}

static void text_json_places(perp_json *json, const char *key, const perp_why_places *places)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < places->n; i++) perp_json_text(json, NULL, places->at[i]);
  perp_json_close(json, ']');
}

static void text_json_evidence(perp_json *json, const perp_why_evidence *evidence)
{
  perp_json_open(json, "evidence", '{');
  if (evidence->jacobian.states > 0) {
    perp_json_open(json, "jacobian", '{');
    perp_json_members(json,
                      "rows %d, rank_least %d, rank_most %d, t_rank_least %g, sine_least %g, "
                      "t_sine_least %g, sine_at_failure %g, condition %g, condition_scaled %g",
                      evidence->jacobian.m, evidence->jacobian.least, evidence->jacobian.most,
                      evidence->jacobian.t_least, evidence->jacobian.sine,
                      evidence->jacobian.t_sine, evidence->jacobian.sine_fail,
                      evidence->jacobian.condition, evidence->jacobian.scaled);
    text_json_places(json, "joints", &evidence->jacobian.rows);
    perp_json_close(json, '}');
  }
  if (evidence->contact.examined > 0) {
    perp_json_open(json, "contacts", '{');
    perp_json_members(json,
                      "examined %d, without_solution %d, without_solution_within %d, rows %d, "
                      "rank %d, condition %g, condition_scaled %g",
                      evidence->contact.examined, evidence->contact.infeasible,
                      evidence->contact.within, evidence->contact.n, evidence->contact.rank,
                      evidence->contact.condition, evidence->contact.scaled);
    text_json_places(json, "pairs", &evidence->contact.pairs);
    perp_json_close(json, '}');
  }
  if (evidence->linear.known || evidence->linear.rates) {
    perp_json_open(json, "linearized", '{');
    if (evidence->linear.known)
      perp_json_members(json, "eigenvalue %g, growth_of_motion %g, t %g, violation %g",
                        exp(evidence->linear.growth), exp(evidence->linear.motion),
                        evidence->linear.t, evidence->linear.off);
    if (evidence->linear.rates)
      perp_json_members(json, "rate_fastest %g, rate_slowest %g", evidence->linear.fast,
                        evidence->linear.slow);
    perp_json_close(json, '}');
  }
  perp_json_members(json, "mass_ratio %g, problems %lld, unsolved %lld", evidence->masses,
                    (long long)evidence->problems, (long long)evidence->failures);
  perp_json_reals(json, "drift_by_quarter", evidence->drift, PERP_WHY_QUARTERS);
  perp_json_close(json, '}');
}

static void text_json_cause(perp_json *json, const perp_why_cause *cause)
{
  perp_json_open(json, NULL, '{');
  perp_json_members(json, "cause %s, title %s, says %s, round %d, tried %d", cause->d->name,
                    cause->d->title, cause->says, cause->round + 1, cause->tried);
  perp_json_open(json, "fixes", '[');
  for (int fixe = 0; fixe < cause->n_fixes; fixe++) {
    perp_text command = { 0 };
    perp_why_command(&cause->fix[fixe]->with, &command);
    perp_json_open(json, NULL, '{');
    perp_json_members(json, "options %s, command %s, whole? %d, status %s, reason %s, cpu_s %g",
                      cause->fix[fixe]->options, command.s, (int)cause->fix[fixe]->whole,
                      cause->fix[fixe]->after->ended, cause->fix[fixe]->after->why,
                      cause->fix[fixe]->after->cpu);
    text_json_figures(json, "after", cause->fix[fixe]->after);
    perp_json_close(json, '}');
    perp_text_free(&command);
  }
  perp_json_close(json, ']');
  perp_json_close(json, '}');
}

void perp_why_json(const perp_why_subject *subject, const perp_why_report *report, FILE *out)
{
  perp_json json = { .out = out, .indent = true };
  perp_text command = { 0 };
  const perp_why_evidence *evidence = report->first;
  perp_why_command(subject, &command);
  perp_json_open(&json, NULL, '{');
  perp_json_members(&json,
                    "run %s, failed? %d, fixed? %d, status %s, reason %s, message %s, t %g, "
                    "t_end %g, h %g",
                    command.s, (int)report->failed, (int)report->fixed, evidence->ended,
                    evidence->why, evidence->message, evidence->t, evidence->t_end, evidence->h);
  text_json_figures(&json, "figures", evidence);
  if (report->failed) text_json_evidence(&json, evidence);
  for (int part = 0; part < 2; part++) {
    perp_json_open(&json, part == 0 ? "causes" : "unfixed", '[');
    for (int cause = part == 0 ? 0 : report->n_named;
         cause < (part == 0 ? report->n_named : report->n_causes); cause++)
      text_json_cause(&json, &report->cause[cause]);
    perp_json_close(&json, ']');
  }
  if (report->last != NULL) {
    command.n = 0;
    perp_why_command(&report->last->with, &command);
    perp_json_text(&json, report->fixed ? "works" : "better", command.s);
  }
  perp_json_members(&json, "runs %d, not_tried %d, seconds %g", report->trials + 1, report->left,
                    report->seconds);
  perp_json_close(&json, '}');
  putc('\n', out);
  perp_text_free(&command);
}
