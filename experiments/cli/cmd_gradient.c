/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp gradient: derivatives of steps of a scene */
#include "experiments/cli/command.h"
#include "experiments/simulate/gradient_run.h"
#include "experiments/watch/request.h"
#include "experiments/base/numbers.h"
#include "experiments/base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the largest entry, or of 1e-3 in SI units: not worth a line. */
static const double SMALL = 1e-9;

static const char *gradient_side_name(perp_gradient_side side)
{
  switch (side) {
  case PERP_GRADIENT_LEFT:
    return "left";
  case PERP_GRADIENT_RIGHT:
    return "right";
  case PERP_GRADIENT_BOTH:
    return "both";
  case PERP_GRADIENT_NEITHER:
    break;
  }
  return "neither";
}

/* Entry of a column of which `of` is a q or v. */
static size_t gradient_entry(const perp_gradient_run *run, const perp_gradient_wrt *of)
{
  return (size_t)of->index + (of->kind == PERP_GRADIENT_V ? (size_t)run->nv : 0);
}

/* check [2 nv n]: differences, NaN where there are none. */
static void gradient_check(perp_ctx *ctx, const perp_gradient_run *run, double *check)
{
  const size_t rows = 2 * (size_t)run->nv;
  for (int wrt = 0; wrt < run->names.n; wrt++) {
    double *out = check + rows * (size_t)wrt;
    const int side = run->side[wrt] == PERP_GRADIENT_BOTH ? 0 : (int)run->side[wrt];
    if (perp_gradient_run_richardson(ctx, run, wrt, perp_gradient_run_eps(run->names.wrt[wrt].kind),
                                     side, out) != PERP_OK)
      for (size_t i = 0; i < rows; i++) out[i] = (double)NAN;
  }
}

static const char *gradient_body(const perp_model *model, int body, char buf[32])
{
  const char *name = body >= 0 ? perp_model_body(model, body)->name : "world";
  if (name == NULL) snprintf(buf, 32, "body %d", body);
  return name != NULL ? name : buf;
}

static void gradient_print_rows(const perp_gradient_run *run)
{
  const perp_gradient_report *report = &run->report;
  perp_table table;
  char a[32], b[32], margin[32];
  if (report->n_rows == 0) return;
  perp_table_init(&table, "lllrl");
  perp_table_row(&table, (const char *const[]){ "last step", "between", "", "margin", "acts" });
  for (int i = 0; i < report->n_rows; i++) {
    const perp_gradient_row *row = &report->row[i];
    char actuator[32] = "";
    if (row->drive >= 0) snprintf(actuator, sizeof actuator, "actuator %d", row->drive);
    const bool contact = row->body[0] >= 0 || row->body[1] >= 0;
    perp_table_row(&table,
                   (const char *const[]){
                       perp_gradient_cause_name(row->cause),
                       contact ? gradient_body(run->scene.model, row->body[0], a) : actuator,
                       contact ? gradient_body(run->scene.model, row->body[1], b) : "",
                       perp_brief(row->margin, margin), row->acts ? "yes" : "no" });
  }
  putchar('\n');
  perp_table_print(&table, stdout);
  perp_table_free(&table);
}

static void gradient_print(const perp_gradient_run *run, const perp_gradient_names *of,
                           const double *check)
{
  const perp_gradient_report *report = &run->report;
  const size_t rows = 2 * (size_t)run->nv;
  double largest = 1e-3;
  char value[32], other[32], h[32], t[32];
  printf("steps    %d of h = %s s from t = %s s\n", run->steps, perp_brief(run->h, h),
         perp_brief(run->t, t));
  printf("verdict  %s", perp_gradient_verdict_name(report->worst));
  const char *separator = " (";
  for (int verdict = 0; verdict <= PERP_GRADIENT_NONE && report->steps > 1; verdict++)
    if (report->counts[verdict] > 0) {
      printf("%s%lld %s", separator, (long long)report->counts[verdict],
             perp_gradient_verdict_name((perp_gradient_verdict)verdict));
      separator = ", ";
    }
  printf("%s\n\n", report->steps > 1 ? ")" : "");
  for (size_t i = 0; i < rows * (size_t)run->names.n; i++) largest = fmax(largest, fabs(run->D[i]));
  perp_table table;
  int left_out = 0;
  perp_table_init(&table, check != NULL ? "llrlr" : "llrl");
  const char *const head[] = { "of", "with respect to", "derivative", "side", "differences" };
  perp_table_row(&table, head);
  for (int j = 0; j < run->names.n; j++)
    for (int wrt = 0; wrt < of->n; wrt++) {
      const size_t at = rows * (size_t)j + gradient_entry(run, &of->wrt[wrt]);
      if (!(fabs(run->D[at]) > SMALL * largest)) {
        left_out++;
        continue;
      }
      snprintf(value, sizeof value, "%.8g", run->D[at]);
      snprintf(other, sizeof other, "%.8g", check != NULL ? check[at] : (double)NAN);
      perp_table_row(&table, (const char *const[]){ of->label[wrt], run->names.label[j], value,
                                                    gradient_side_name(run->side[j]), other });
    }
  perp_table_print(&table, stdout);
  perp_table_free(&table);
  if (left_out > 0) printf("%d entries that are zero to %g are left out\n", left_out, SMALL);
  gradient_print_rows(run);
}

static void gradient_json(const perp_gradient_run *run, const perp_gradient_names *of,
                          const double *check)
{
  perp_json json = { .out = stdout, .indent = true };
  const perp_gradient_report *report = &run->report;
  const size_t rows = 2 * (size_t)run->nv;
  double *entries = perp_xalloc((size_t)of->n, sizeof *entries);
  perp_json_open(&json, NULL, '{');
  perp_json_members(&json, "h %g, t %g, steps %d, verdict %s", run->h, run->t, run->steps,
                    perp_gradient_verdict_name(report->worst));
  perp_json_open(&json, "verdicts", '{');
  for (int verdict = 0; verdict <= PERP_GRADIENT_NONE; verdict++)
    perp_json_int(&json, perp_gradient_verdict_name((perp_gradient_verdict)verdict),
                  report->counts[verdict]);
  perp_json_close(&json, '}');
  perp_json_open(&json, "of", '[');
  for (int i = 0; i < of->n; i++) perp_json_text(&json, NULL, of->label[i]);
  perp_json_close(&json, ']');
  perp_json_open(&json, "columns", '[');
  for (int j = 0; j < run->names.n; j++) {
    perp_json_open(&json, NULL, '{');
    perp_json_members(&json, "wrt %s, side %s", run->names.label[j],
                      gradient_side_name(run->side[j]));
    for (int k = 0; k < 2; k++) {
      const double *from = k == 0 ? run->D : check;
      for (int wrt = 0; from != NULL && wrt < of->n; wrt++)
        entries[wrt] = from[rows * (size_t)j + gradient_entry(run, &of->wrt[wrt])];
      if (from != NULL)
        perp_json_reals(&json, k == 0 ? "derivative" : "differences", entries, of->n);
    }
    perp_json_close(&json, '}');
  }
  perp_json_close(&json, ']');
  perp_json_open(&json, "rows", '[');
  for (int row = 0; row < report->n_rows; row++)
    perp_json_object(&json, NULL,
                     "cause %s, body_a %d, body_b %d, actuator %d, margin %g, acts? %d",
                     perp_gradient_cause_name(report->row[row].cause), report->row[row].body[0],
                     report->row[row].body[1], report->row[row].drive, report->row[row].margin,
                     (int)report->row[row].acts);
  perp_json_close(&json, ']');
  perp_json_close(&json, '}');
  putchar('\n');
  free(entries);
}

static int gradient_of(perp_ctx *ctx, const perp_args *args, const perp_model *model,
                       perp_gradient_names *of)
{
  const char *text = perp_args_get(args, "of");
  if (perp_gradient_names_read(ctx, model, text != NULL ? text : "state", of) != PERP_OK)
    return perp_usage_of(ctx, args, "--of: %s", ctx->msg);
  for (int wrt = 0; wrt < of->n; wrt++)
    if (of->wrt[wrt].kind != PERP_GRADIENT_Q && of->wrt[wrt].kind != PERP_GRADIENT_V)
      return perp_usage_error(
          args, "--of names what is differentiated: q:BODY.x or v:BODY.x, not %s", of->label[wrt]);
  return -1;
}

static int cmd_gradient(perp_ctx *ctx, const perp_args *args)
{
  perp_cli_request given;
  int64_t steps = 1, skip = 0;
  int status = perp_command_request(ctx, args, &given);
  if (status < 0) status = perp_option_int(ctx, args, "steps", 1, 1000000, &steps);
  if (status < 0) status = perp_option_int(ctx, args, "after", 0, 1000000000, &skip);
  if (status >= 0) return status;
  const char *wrt = perp_args_get(args, "wrt");
  perp_gradient_run run;
  perp_gradient_names of = { 0 };
  double *check = NULL;
  const perp_status made = perp_gradient_run_make(ctx, &given.q, (int)skip, (int)steps,
                                                  wrt != NULL ? wrt : "state", &run);
  if (made != PERP_OK)
    status = made == PERP_ERR_OPTION ? perp_usage_of(ctx, args, "--wrt: %s", ctx->msg)
                                     : perp_refuse(ctx, perp_exit_of(made));
  if (status < 0) status = gradient_of(ctx, args, run.scene.model, &of);
  if (status < 0) {
    if (perp_option_given(args, "check")) {
      check = perp_xalloc(2 * (size_t)run.nv * (size_t)run.names.n, sizeof *check);
      gradient_check(ctx, &run, check);
    }
    (perp_option_given(args, "json") ? gradient_json : gradient_print)(&run, &of, check);
    status = run.report.worst == PERP_GRADIENT_NONE ? PERP_EXIT_FAILED : PERP_EXIT_OK;
  }
  free(check);
  perp_gradient_names_free(&of);
  perp_gradient_run_free(&run);
  return status;
}

static const perp_flag gradient_flags[] = {
  { "wrt", 0, "LIST",
    "Parameters, separated by commas: state (default), q:BODY.x to q:BODY.rz, v:BODY.x, "
    "mass:BODY, gravity, friction, friction:SHAPE, force:BODY.x, target:ACTUATOR." },
  { "of", 0, "LIST", "Entries of the state to print: q:BODY.x, v:BODY.rz, q:BODY (default: all)." },
  { "steps", 0, "N", "Number of steps to differentiate (default: 1)." },
  { "after", 0, "N", "Number of steps before them (default: 0)." },
  { "check", 0, NULL,
    "Print difference quotients of whole steps beside the derivatives (Richardson extrapolation; "
    "one-sided at a kink)." },
  { "json", 0, NULL, "Print the result as JSON." },
  { "formulation", 0, "NAME", "Formulation of the dynamics: velocity, acceleration, reduced." },
  { "ode", 0, "NAME", "Integrator of the equations of motion." },
  { "kkt", 0, "NAME", "Solver of the equality-constrained dynamics." },
  { "lcp", 0, "NAME", "Solver of the contact problem." },
  { "stab", 0, "NAME", "Constraint stabilization." },
  { "contact", 0, "NAME", "Contact and friction model." },
  { "h", 0, "TIME", "Step size, e.g. 1ms." },
  { "seed", 0, "N", "Seed of random numbers; short for the option seed of the scene." },
  PERP_FILTER_FLAG,
  { 0 }
};

const perp_command perp_gradient_command = {
  .cli.name = "gradient",
  .cli.usage = "SCENE [options]",
  .cli.summary =
      "Prints derivatives of the state after some steps, with a verdict that says where there are "
      "none. Rotations are differentiated as rotation vectors in the frame of the body.",
  .cli.more = "Verdicts: smooth, singular (multipliers are not unique, the motion is), kink (one "
              "side only), ambiguous (the motion depends on which multipliers), jump, none.\n"
              "Exit status 0: derivatives were computed, at a kink, too. 10: none exist.",
  .cli.example =
      "perp gradient rolling-sphere --after 5 --wrt v:ball.x,friction --of v:ball --check",
  .cli.flags = gradient_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Derivatives of steps of a scene, and whether they exist",
  .run = cmd_gradient
};
