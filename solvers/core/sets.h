/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disjoint sets of the numbers 0 ... n - 1: root [n] leads each number to the smallest of its set,
 * root[i] = i at first.  Not installed.  About constant time a call, by path halving. */
#ifndef PERP_SETS_H
#define PERP_SETS_H

static inline int perp_root(int *root, int i)
{
  while (root[i] != i) i = root[i] = root[root[i]];
  return i;
}

static inline void perp_unite(int *root, int a, int b)
{
  a = perp_root(root, a);
  b = perp_root(root, b);
  root[a > b ? a : b] = a > b ? b : a;
}

#endif
