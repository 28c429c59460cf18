/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Height fields: the cells of a grid. */
#include "models/geometry/mesh.h"

#include <stdlib.h>
#include <string.h>

static perp_status field_check(perp_ctx *ctx, const double *heights, const int grid[2],
                               const double spacing[2], double depth, const char *who)
{
  if (grid[0] < 2 || grid[1] < 2 || heights == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a height field needs at least 2 x 2 points: got %d x %d", who, grid[0],
                     grid[1]);
  if ((int64_t)2 * (grid[0] - 1) * (grid[1] - 1) > PERP_MESH_TRIANGLES_MAX)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: %d x %d points exceed the limit of %d triangles: split the height field",
                     who, grid[0], grid[1], PERP_MESH_TRIANGLES_MAX);
  for (int k = 0; k < 2; k++)
    if (!(spacing[k] > 0) || !isfinite(spacing[k]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: spacing must be positive: got %g, %g m", who,
                       spacing[0], spacing[1]);
  if (!(depth >= 0) || !isfinite(depth))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: depth must be positive, or 0: got %g m", who, depth);
  for (int i = 0; i < grid[0] * grid[1]; i++)
    if (!isfinite(heights[i]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: height %d of row %d is not finite", who, i % grid[0],
                       i / grid[0]);
  return PERP_OK;
}

perp_status perp_mesh_field(perp_ctx *ctx, const double *heights, const int grid[2],
                            const double spacing[2], double depth, const char *who, perp_mesh **out)
{
  *out = NULL;
  PERP_TRY(field_check(ctx, heights, grid, spacing, depth, who));
  const int nx = grid[0], ny = grid[1];
  perp_mesh like = { .n_vertices = nx * ny,
                     .n_triangles = 2 * (nx - 1) * (ny - 1),
                     .field = true,
                     .grid = { nx, ny },
                     .spacing = { spacing[0], spacing[1] },
                     .depth = depth,
                     .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 },
                     .low = HUGE_VAL,
                     .high = -HUGE_VAL };
  if (depth == 0) like.depth = fmax((nx - 1) * spacing[0], (ny - 1) * spacing[1]);
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, who, &like, sizeof like, perp_mesh_layout, &ws));
  perp_mesh *mesh = ws;
  for (int i = 0; i < nx * ny; i++) {
    mesh->v[3 * i] = (i % nx) * spacing[0];
    mesh->v[3 * i + 1] = (i / nx) * spacing[1];
    mesh->v[3 * i + 2] = heights[i];
    mesh->low = fmin(mesh->low, heights[i]);
    mesh->high = fmax(mesh->high, heights[i]);
  }
  for (int j = 0, *t = mesh->tri; j + 1 < ny; j++)
    for (int i = 0; i + 1 < nx; i++) {
      const int o = i + nx * j, across = o + nx + 1;
      *t++ = o, *t++ = o + 1, *t++ = across;
      *t++ = o, *t++ = across, *t++ = o + nx;
    }
  const perp_status status = perp_mesh_measure(ctx, mesh, who);
  if (status != PERP_OK) {
    free(mesh);
    return status;
  }
  *out = mesh;
  return PERP_OK;
}

/* cells first ... last along an axis between lo and hi; false: none */
static bool field_cells(double lo, double hi, double spacing, int cells, int *first, int *last)
{
  const double from = floor(lo / spacing - 1e-9), to = floor(hi / spacing + 1e-9);
  if (!(to >= 0) || !(from < cells)) return false;
  *first = from < 0 ? 0 : (int)from;
  *last = to >= cells ? cells - 1 : (int)to;
  return true;
}

void perp_field_near(const perp_mesh *mesh, const double lo[3], const double hi[3],
                     perp_mesh_visit *visit, void *user)
{
  double a[3], b[3]; /* the box in the frame of the grid */
  for (int k = 0; k < 3; k++) {
    const double *axis = mesh->R + 3 * k;
    double middle = 0, half = 0;
    for (int i = 0; i < 3; i++) {
      middle += axis[i] * (0.5 * (lo[i] + hi[i]) - mesh->c[i]);
      half += fabs(axis[i]) * 0.5 * (hi[i] - lo[i]);
    }
    a[k] = middle - half, b[k] = middle + half;
  }
  int x0, x1, y0, y1;
  if (a[2] > mesh->high || b[2] < mesh->low - mesh->depth ||
      !field_cells(a[0], b[0], mesh->spacing[0], mesh->grid[0] - 1, &x0, &x1) ||
      !field_cells(a[1], b[1], mesh->spacing[1], mesh->grid[1] - 1, &y0, &y1))
    return;
  for (int j = y0; j <= y1; j++)
    for (int i = x0; i <= x1; i++)
      for (int k = 0; k < 2; k++)
        if (!visit(user, 2 * (i + (mesh->grid[0] - 1) * j) + k)) return;
}
