/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/answers/finding.h"

#include "experiments/study/words.h"

#include <math.h>
#include <string.h>

const char *const perp_found_names[] = { "stated", "alone", "factor",   "noise", "same", "winner",
                                         "answer", "order", "failures", "floor", NULL };

perp_finding *findings_add(struct writing *writing, int rank, perp_found_kind kind,
                           const char *text)
{
  writing->list = perp_pool_grown(writing->pool, writing->list, writing->n, sizeof *writing->list);
  writing->list[writing->n] = (perp_finding){ .kind = kind,
                                              .rank = rank,
                                              .text = text,
                                              .metric = "",
                                              .factor = "",
                                              .second = "",
                                              .who = "",
                                              .basis = "",
                                              .share = (double)NAN,
                                              .effect = (double)NAN,
                                              .verdict = "" };
  return &writing->list[writing->n++];
}

const char *findings_metric(struct writing *writing, const char *name)
{
  const char *words = perp_words_ranked(name);
  const size_t first = strcspn(words, " ");
  const bool several = words[first] != '\0' && words[first - 1] == 's';
  return several ? perp_pool_printf(writing->pool, "number of %s", words) : words;
}

const char *findings_times(struct writing *writing, double factor)
{
  if (factor >= 1000) {
    static const char *const raised[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    const char *text = "10";
    char digits[16];
    snprintf(digits, sizeof digits, "%.0f", log10(factor));
    for (const char *at = digits; *at != '\0'; at++)
      text = perp_pool_printf(writing->pool, "%s%s", text, raised[*at - '0']);
    return text;
  }
  const double unit = factor < 10 ? 0.1 : factor < 100 ? 1 : 10;
  return perp_pool_printf(writing->pool, "%.*f", factor < 10, unit * round(factor / unit));
}
