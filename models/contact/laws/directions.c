/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/laws/directions.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

void perp_directions_set(perp_directions *w, int dim, int k)
{
  w->k = k = dim == 2 ? 2 : k;
  for (int i = 0; i < k; i++) {
    const double angle = 2 * M_PI * i / k;
    const bool opposite = k % 2 == 0 && i >= k / 2;
    w->d[0][i] = opposite ? -w->d[0][i - k / 2] : 4 * i == k ? 0 : cos(angle);
    w->d[1][i] = opposite ? -w->d[1][i - k / 2] : sin(angle);
  }
}

void perp_directions_beside(const perp_directions *directions, double x, double y, int at[2],
                            double part[2])
{
  const int k = directions->k;
  part[0] = part[1] = 0;
  at[0] = 0, at[1] = 1;
  if (x == 0 && y == 0) return;
  if (k == 2) {
    at[0] = x < 0, at[1] = x >= 0;
    part[0] = fabs(x);
    return;
  }
  const double step = 2 * M_PI / k;
  double angle = atan2(y, x);
  if (angle < 0) angle += 2 * M_PI;
  const int a = (int)(angle / step) % k, b = (a + 1) % k;
  const double det = directions->d[0][a] * directions->d[1][b] -
                     directions->d[0][b] * directions->d[1][a];
  at[0] = a, at[1] = b;
  part[0] = fmax((x * directions->d[1][b] - directions->d[0][b] * y) / det, 0);
  part[1] = fmax((directions->d[0][a] * y - x * directions->d[1][a]) / det, 0);
}

void perp_directions_expand(const double *Ca, int na, int ra, const double *Cb, int nb, int rb,
                            const double *in, int ld_in, double *out, int ld)
{
  double half[3 * (PERP_DIRECTIONS_MAX + 1)];
  for (int j = 0; j < nb; j++)
    for (int i = 0; i < ra; i++) {
      double sum = 0;
      for (int q = 0; q < rb; q++) sum += in[i + (size_t)q * (size_t)ld_in] * Cb[3 * j + q];
      half[i + 3 * j] = sum;
    }
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++) {
      double sum = 0;
      for (int q = 0; q < ra; q++) sum += Ca[3 * i + q] * half[q + 3 * j];
      out[i + (size_t)j * (size_t)ld] = sum;
    }
}
