/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp simulate: one cell, no study */
#include "experiments/metrics/metrics.h"
#include "experiments/runner/cli.h"
#include "experiments/runner/kind_simulate.h"
#include "experiments/runner/simulate_contacts.h"
#include "experiments/runner/util.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- the time limit ---------------------------------------------------------------------------------------- */

static char timeout_text[256]; /* what is said when the limit strikes, prepared before */

static void on_alarm(int number)
{
  (void)number;
  if (write(1, timeout_text, strlen(timeout_text)) < 0) _exit(PERP_EXIT_INTERNAL);
  _exit(PERP_EXIT_FAILED);
}

static void set_limit(double seconds, bool json)
{
  snprintf(
      timeout_text, sizeof timeout_text,
      json ? "{\"status\": \"timeout\", \"reason\": \"time limit\", \"message\": \"stopped at the "
             "time limit of %g s\"}\n"
           : "status   timeout: stopped at the time limit of %g s\n",
      seconds);
  struct sigaction action = { .sa_handler = on_alarm };
  sigaction(SIGALRM, &action, NULL);
  struct itimerval timer = { .it_value = { .tv_sec = (time_t)seconds,
                                           .tv_usec = (suseconds_t)(1e6 * fmod(seconds, 1)) + 1 } };
  setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- for people ------------------------------------------------------------------------------------------------ */

static void print_result(const perp_ctx *ctx, const perp_result *r)
{
  char h[40], t_end[40], buf[32];
  perp_format_real(r->h, h, sizeof h);
  perp_format_real(r->t_end, t_end, sizeof t_end);
  printf("scene    %s\n", r->scene);
  const char *const parts[] = { r->formulation, r->ode, r->kkt, r->lcp, r->stab, r->contact };
  static const char *const names[] = { "formulation", "ode", "kkt", "lcp", "stab", "contact" };
  perp_text t = { 0 };
  for (int i = 0; i < 6; i++)
    if (parts[i][0] != '\0')
      perp_text_add(&t, "%s%s %s", t.n ? ", " : "parts    ", names[i], parts[i]);
  perp_text_add(&t, "\nstep     h = %s s to t = %s s\n", h, t_end);
  perp_text_add(&t, "status   %s (%s) at t = %.6g s%s%s\n",
                perp_cell_status_names[perp_result_status(r)], perp_reason_name(r->reason), r->t,
                r->message[0] ? ": " : "", r->message);
  if (r->events[0]) perp_text_add(&t, "events   %s\n", r->events);
  perp_text_add(&t, "truth    %s\n\n", r->truth[0] ? r->truth : "none");
  fputs(t.s, stdout);
  perp_text_free(&t);

  perp_contacts_text(&r->contact_count, stdout);

  perp_table table;
  perp_table_init(&table, "lrl");
  perp_table_row(&table, (const char *const[]){ "metric", "value", "unit" });
  for (int i = 0; i < r->n_metrics; i++) {
    const perp_desc *d = perp_find(ctx, PERP_KIND_metric, r->metrics[i].name);
    if (isnan(r->metrics[i].value) || d == NULL || (d->caps & PERP_METRIC_TIMING)) continue;
    const perp_metric_desc *m = (const perp_metric_desc *)(const void *)d;
    perp_table_row(&table,
                   (const char *const[]){ d->name, perp_brief(r->metrics[i].value, buf), m->unit });
  }
  perp_table_print(&table, stdout);
  perp_table_free(&table);
  printf("\nstep     %.4g us CPU", r->step_us);
  const double us[] = { r->collision_us, r->assembly_us, r->kkt_us, r->lcp_us, r->integrate_us };
  static const char *const what[] = { "collision", "assembly", "kkt", "lcp", "rest" };
  for (int i = 0; i < 5; i++)
    if (us[i] > 0) printf(", %s %.3g", what[i], us[i]);
  printf("\n");
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* A real option of the command line in (0, inf) or [0, inf). */
static int read_real(perp_ctx *ctx, const perp_args *args, const char *flag, bool zero,
                     double *value)
{
  const char *text = perp_args_get(args, flag);
  if (text == NULL) return -1;
  if (perp_parse_real(ctx, text, "s", value) != PERP_OK)
    return perp_usage_error(args, "--%s: %s", flag, ctx->msg);
  if (!(*value > 0 || (zero && *value == 0)) || isinf(*value))
    return perp_usage_error(args, "--%s must be in %s0, inf) s: got %s", flag, zero ? "[" : "(",
                            text);
  return -1;
}

/* The value of a flag that names a plug-in: checked here, so that an error names the flag. */
static int read_plugin(perp_ctx *ctx, const perp_args *args, const char *flag, perp_kind kind,
                       const char **value)
{
  *value = perp_args_get(args, flag);
  perp_spec spec;
  if (*value == NULL) return -1;
  if (perp_spec_parse(ctx, kind, *value, &spec) != PERP_OK)
    return perp_usage_error(args, "--%s: %s", flag, ctx->msg);
  perp_spec_free(&spec);
  return -1;
}

/* --tol is the option tol of the integrator. */
static int add_tolerance(perp_ctx *ctx, const perp_args *args, const char **ode, char *buf,
                         size_t size)
{
  const char *tol = perp_args_get(args, "tol");
  if (tol == NULL) return -1;
  if (*ode == NULL)
    return perp_usage_error(args, "--tol needs --ode: it is an option of the integrator");
  perp_spec spec;
  perp_status status = perp_spec_parse(ctx, PERP_KIND_ode, *ode, &spec);
  if (status == PERP_OK) status = perp_opts_set(ctx, spec.d, spec.opts, "tol", tol);
  if (status == PERP_OK && perp_spec_format(&spec, buf, size) >= (int)size)
    status = PERP_FAIL(ctx, PERP_ERR_OPTION, "the options of %s are too long", *ode);
  perp_spec_free(&spec);
  if (status != PERP_OK) return perp_usage_error(args, "--tol: %s", ctx->msg);
  *ode = buf;
  return -1;
}

static int exit_of(perp_status status)
{
  switch (status) {
  case PERP_ERR_ARG:
  case PERP_ERR_DIM:
  case PERP_ERR_OPTION:
  case PERP_ERR_UNSUPPORTED:
    return PERP_EXIT_USAGE;
  case PERP_ERR_IO:
  case PERP_ERR_FORMAT:
    return PERP_EXIT_INPUT;
  default:
    return PERP_EXIT_INTERNAL;
  }
}

static int write_series_file(const perp_result *result, const char *path)
{
  FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
  if (f != NULL) perp_series_write(&result->series, NULL, 0, f);
  bool good = f != NULL && fflush(f) == 0 && !ferror(f);
  if (f != NULL && f != stdout) good = fclose(f) == 0 && good;
  if (good) return PERP_EXIT_OK;
  perp_say("error: cannot write %s: %s", path, strerror(errno));
  return PERP_EXIT_INTERNAL;
}

int perp_cmd_simulate(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "formulation", 0, "NAME", "how the scene becomes numbers: velocity, acceleration, ..." },
    { "ode", 0, "NAME", "integrator" },
    { "kkt", 0, "NAME", "solver of the constrained dynamics" },
    { "lcp", 0, "NAME", "solver of the contact problem" },
    { "stab", 0, "NAME", "constraint stabilization" },
    { "contact", 0, "NAME", "contact and friction model" },
    { "h", 0, "TIME", "step, e.g. 1ms; the first one of adaptive methods" },
    { "t-end", 0, "TIME", "end of the simulation, e.g. 0.8s" },
    { "tol", 0, "X", "error per step: short for the option tol of --ode" },
    { "sample", 0, "TIME", "time between comparisons with the truth and rows of the series" },
    { "seed", 0, "N", "of random numbers (default 1)" },
    { "rounds", 0, "N", "runs for the clock alone, without metrics (default 1)" },
    { "series", 0, "FILE", "write the time series as CSV; - is standard output" },
    { "timeout", 0, "TIME", "stop after this much wall time, e.g. 30s" },
    { "json", 0, NULL, "the result as JSON" },
    { 0 }
  };
  static const perp_cli cli = {
    "simulate",
    "SCENE [options]",
    "Runs one scene with one choice of parts and prints what it is judged by. Names take options: "
    "chain:links=12, baumgarte:alpha=50, gsl:rk8pd:tol=1e-12; times take units.",
    "Exit status 10 when the simulation diverged, timed out, or had contact problems none of which "
    "was solved; its "
    "result is printed all the same.",
    "perp simulate chain:links=6 --stab post --h 1ms --t-end 0.8s",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  perp_request q = { .scene = args.arg[0], .seed = 1, .timing_rounds = 1 };
  const struct {
    const char *flag;
    perp_kind kind;
    const char **value;
  } plugins[] = { { "formulation", PERP_KIND_formulation, &q.formulation },
                  { "ode", PERP_KIND_ode, &q.ode },
                  { "kkt", PERP_KIND_kkt, &q.kkt },
                  { "lcp", PERP_KIND_lcp, &q.lcp },
                  { "stab", PERP_KIND_stab, &q.stab },
                  { "contact", PERP_KIND_contact, &q.contact } };
  perp_spec scene;
  if (perp_spec_parse(ctx, PERP_KIND_scene, q.scene, &scene) != PERP_OK)
    return perp_usage_error(&args, "%s", ctx->msg);
  perp_spec_free(&scene);
  for (size_t i = 0; i < sizeof plugins / sizeof *plugins && status < 0; i++)
    status = read_plugin(ctx, &args, plugins[i].flag, plugins[i].kind, plugins[i].value);
  char ode[PERP_SPEC_MAX];
  double timeout = 0;
  if (status < 0) status = add_tolerance(ctx, &args, &q.ode, ode, sizeof ode);
  if (status < 0) status = read_real(ctx, &args, "h", false, &q.h);
  if (status < 0) status = read_real(ctx, &args, "t-end", false, &q.t_end);
  if (status < 0) status = read_real(ctx, &args, "sample", true, &q.sample_every);
  if (status >= 0) return status;
  const char *text;
  int64_t n = 0;
  if ((text = perp_args_get(&args, "timeout")) != NULL) {
    if (perp_parse_duration(ctx, text, &timeout) != PERP_OK)
      return perp_usage_error(&args, "--timeout: %s", ctx->msg);
    if (timeout <= 0) return perp_usage_error(&args, "--timeout must be positive: got %s", text);
  }
  if ((text = perp_args_get(&args, "seed")) != NULL) {
    if (perp_parse_int(ctx, text, 0, INT64_MAX, &n) != PERP_OK)
      return perp_usage_error(&args, "--seed: %s", ctx->msg);
    q.seed = (uint64_t)n;
  }
  if ((text = perp_args_get(&args, "rounds")) != NULL) {
    if (perp_parse_int(ctx, text, 0, 1000, &n) != PERP_OK)
      return perp_usage_error(&args, "--rounds: %s", ctx->msg);
    q.timing_rounds = (int)n;
  }
  const char *series = perp_args_get(&args, "series");
  bool json = perp_args_get(&args, "json") != NULL;
  if (series != NULL && strcmp(series, "-") == 0 && json)
    return perp_usage_error(&args, "--json and --series - cannot both go to standard output");
  q.want_series = series != NULL;
  if (timeout > 0) set_limit(timeout, json);

  perp_result result;
  perp_status done = perp_simulate(ctx, &q, &result);
  if (done != PERP_OK) {
    perp_print_error(ctx);
    return exit_of(done);
  }
  int code = result.reason > 0 ? PERP_EXIT_OK : PERP_EXIT_FAILED;
  if (series != NULL) {
    int written = write_series_file(&result, series);
    if (written != PERP_EXIT_OK) code = written;
  }
  if (json)
    perp_result_json(&result, stdout);
  else if (series == NULL || strcmp(series, "-") != 0)
    print_result(ctx, &result);
  perp_result_free(&result);
  return code;
}
