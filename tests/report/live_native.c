/* SPDX-License-Identifier: GPL-3.0-or-later */
/* live_native: the functions of the WebAssembly module compiled for this machine, with its
 * libraries, for live.mjs, which calls the same ones in a browser.  Lines of stdin, words separated
 * by tabs; a line of JSON for each:
 *
 *   problem FAMILY N SEED SOLVER...        a generated problem and what each solver makes of it
 *   scene NAME TEXT                        a scene file, as the page brings it
 *   run SCENE FORMULATION ODE KKT LCP STAB CONTACT H STEPS      the state after so many steps */
#include "experiments/live/module/live.h"

#include "experiments/base/json.h"
#include "solvers/lcp/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 24 };

/* Words of a line, in place; empty ones count. */
static int native_words(char *line, char **word)
{
  int n = 0;
  line[strcspn(line, "\n")] = '\0';
  for (char *s = line; s != NULL && n < WORDS;) {
    char *tab = n == 2 && strncmp(line, "scene", 5) == 0 ? NULL : strchr(s, '\t');
    word[n++] = s;
    if (tab != NULL) *tab++ = '\0';
    s = tab;
  }
  return n;
}

static void native_problem(char **word, int n_words)
{
  perp_lcp_problem problem;
  const perp_lcp_recipe recipe = { .family = word[1],
                                   .n = atoi(word[2]),
                                   .seed = strtoull(word[3], NULL, 10) };
  perp_json json = { .out = stdout };
  perp_json_open(&json, NULL, '{');
  if (perp_lcp_generate(live_ctx(), &recipe, &problem) != PERP_OK)
    perp_json_text(&json, "error", live_message());
  else {
    const perp_lcp *p = &problem.p;
    const int n = p->n;
    double *A = calloc((size_t)(n * n + 3 * n), sizeof *A), *lo = A + n * n, *hi = lo + n,
           *lambda = hi + n;
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < n; i++) A[i + j * n] = perp_lcp_entry(p, i, j);
      lo[j] = p->lo != NULL ? p->lo[j] : 0;
      hi[j] = p->hi != NULL ? p->hi[j] : HUGE_VAL;
    }
    perp_json_int(&json, "n", n);
    perp_json_reals(&json, "A", A, n * n);
    perp_json_reals(&json, "b", p->b, n);
    perp_json_reals(&json, "lo", lo, n);
    perp_json_reals(&json, "hi", hi, n);
    perp_json_open(&json, "answers", '{');
    for (int k = 4; k < n_words; k++) {
      double figures[5];
      for (int i = 0; i < n; i++) lambda[i] = 0;
      perp_json_open(&json, word[k], '{');
      if (!live_answer(word[k], n, A, p->b, lo, hi, lambda, figures))
        perp_json_text(&json, "error", live_message());
      else {
        perp_json_reals(&json, "figures", figures, 5);
        perp_json_reals(&json, "lambda", lambda, n);
      }
      perp_json_close(&json, '}');
    }
    perp_json_close(&json, '}');
    free(A);
    perp_lcp_problem_free(&problem);
  }
  perp_json_close(&json, '}');
}

static void native_run(char **word)
{
  perp_json json = { .out = stdout };
  perp_json_open(&json, NULL, '{');
  live_run *run = live_open(word[1], word[2], word[3], word[4], word[5], word[6], word[7],
                            atof(word[8]), false);
  if (run == NULL)
    perp_json_text(&json, "error", live_message());
  else {
    double iterations = 0, problems = 0;
    int reason = 0;
    for (int i = 0; i < atoi(word[9]) && reason >= 0; i++) {
      reason = live_step(run);
      iterations += run->figure[8];
      problems += run->figure[7];
    }
    perp_json_int(&json, "reason", reason);
    perp_json_real(&json, "iterations", iterations);
    perp_json_real(&json, "problems", problems);
    perp_json_real(&json, "t", run->figure[0]);
    perp_json_reals(&json, "q", live_q(run), perp_model_nq(run->model));
    perp_json_reals(&json, "v", live_v(run), perp_model_nv(run->model));
    live_close(run);
  }
  perp_json_close(&json, '}');
}

int main(void)
{
  char *line = NULL, *word[WORDS];
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    const int n = native_words(line, word);
    if (n >= 5 && strcmp(word[0], "problem") == 0)
      native_problem(word, n);
    else if (n == 3 && strcmp(word[0], "scene") == 0)
      fputs(live_scene(word[1], word[2]) != NULL ? "{}" : "{\"error\":1}", stdout);
    else if (n == 10 && strcmp(word[0], "run") == 0)
      native_run(word);
    else
      fputs("{\"error\":\"unknown line\"}", stdout);
    putchar('\n');
    fflush(stdout);
  }
  free(line);
  return 0;
}
