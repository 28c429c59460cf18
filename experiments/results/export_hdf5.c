/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One group `cells` with a data set a column (texts: variable length, numbers: doubles), units as
 * attributes, and a group `time` with [cells][rounds] data sets.  Written in one go: a half-written
 * file does not open. */
#include "experiments/results/results.h"
#include "experiments/base/files.h"
#include "solvers/lcp/io/io_hdf5.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool export_hdf5_attribute(hid_t object, const char *name, const char *value)
{
  hid_t type = perp_io_hdf5.H5Tcopy(H5T_C_S1), space = perp_io_hdf5.H5Screate(H5S_SCALAR);
  perp_io_hdf5.H5Tset_size(type, strlen(value) + 1);
  hid_t a = perp_io_hdf5.H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool good = a >= 0 && perp_io_hdf5.H5Awrite(a, type, value) >= 0;
  if (a >= 0) perp_io_hdf5.H5Aclose(a);
  perp_io_hdf5.H5Sclose(space);
  perp_io_hdf5.H5Tclose(type);
  return good;
}

/* A data set of n rows, of `columns` numbers each (0: of one); unit NULL: none is told. */
static bool export_hdf5_dataset(hid_t group, const char *name, hid_t type, const void *value, int n,
                                int columns, const char *unit)
{
  hsize_t size[2] = { (hsize_t)n, (hsize_t)columns };
  hid_t space = perp_io_hdf5.H5Screate_simple(columns > 0 ? 2 : 1, size, NULL);
  hid_t d = perp_io_hdf5.H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT,
                                    H5P_DEFAULT);
  bool good = d >= 0 && perp_io_hdf5.H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0 &&
              (unit == NULL || export_hdf5_attribute(d, "unit", unit));
  if (d >= 0) perp_io_hdf5.H5Dclose(d);
  perp_io_hdf5.H5Sclose(space);
  return good;
}

static bool export_hdf5_texts(hid_t group, const char *name, const char **value, int n)
{
  hid_t type = perp_io_hdf5.H5Tcopy(H5T_C_S1);
  perp_io_hdf5.H5Tset_size(type, H5T_VARIABLE);
  bool good = export_hdf5_dataset(group, name, type, value, n, 0, NULL);
  perp_io_hdf5.H5Tclose(type);
  return good;
}

static bool export_hdf5_numbers(hid_t group, const char *name, const char *unit,
                                const double *value, int n, int columns)
{
  return export_hdf5_dataset(group, name, H5T_NATIVE_DOUBLE, value, n, columns, unit);
}

static bool export_hdf5_write_cells(const perp_results *results, hid_t group)
{
  const perp_study *study = results->study;
  int n = results->plan.n;
  const char **text = perp_xalloc((size_t)n + 1, sizeof *text);
  double *value = perp_xalloc((size_t)n + 1, sizeof *value);
  for (int cell = 0; cell < n; cell++) text[cell] = results->plan.cells[cell].id;
  bool good = export_hdf5_texts(group, "cell", text, n);
  for (int record = 0; record < n; record++)
    text[record] = perp_cell_status_names[results->record[record].status];
  good = good && export_hdf5_texts(group, "status", text, n);
  for (int record = 0; record < n; record++) text[record] = results->record[record].cause;
  good = good && export_hdf5_texts(group, "cause", text, n);
  for (int record = 0; record < n; record++) value[record] = results->record[record].problems;
  good = good && export_hdf5_numbers(group, "problems", "", value, n, 0);
  for (int record = 0; record < n; record++) value[record] = results->record[record].unsolved;
  good = good && export_hdf5_numbers(group, "unsolved", "", value, n, 0);
  for (int record = 0; record < n; record++)
    value[record] = results->record[record].partial ? 1 : 0;
  good = good && export_hdf5_numbers(group, "partial", "", value, n, 0);
  for (int record = 0; record < n; record++) value[record] = results->record[record].reached;
  good = good && export_hdf5_numbers(group, "reached", "s", value, n, 0);
  for (int column = 0; column < study->n_params && good; column++) {
    const perp_param *param = &study->kind->params[column];
    for (int cell = 0; cell < n; cell++) {
      text[cell] = results->plan.cells[cell].value[column].text;
      value[cell] = perp_value_number(&results->plan.cells[cell].value[column]);
    }
    good = study->columns[column].type == PERP_COLUMN_NUMBER
               ? export_hdf5_numbers(group, param->key, param->unit != NULL ? param->unit : "",
                                     value, n, 0)
               : export_hdf5_texts(group, param->key, text, n);
  }
  for (int metric = 0; metric < study->n_metrics && good; metric++) {
    if (study->metric[metric].timing) continue;
    for (int record = 0; record < n; record++)
      value[record] = results->record[record].value[metric];
    good = export_hdf5_numbers(group, study->metric[metric].name, study->metric[metric].unit, value,
                               n, 0);
  }
  free(text);
  free(value);
  return good;
}

static bool write_times(const perp_results *results, hid_t group)
{
  const perp_study *study = results->study;
  int n = results->plan.n, rounds = study->measure.repeats;
  if (rounds == 0) return true;
  double *value = perp_xalloc((size_t)(n * rounds), sizeof *value);
  bool good = true;
  for (int metric = 0; metric < study->n_metrics && good; metric++) {
    if (!study->metric[metric].timing) continue;
    for (int record = 0; record < n; record++)
      for (int round = 0; round < rounds; round++)
        value[record * rounds + round] = round < results->record[record].rounds
                                             ? results->record[record].round[metric][round]
                                             : (double)NAN;
    good = export_hdf5_numbers(group, study->metric[metric].name, study->metric[metric].unit, value,
                               n, rounds);
  }
  free(value);
  return good;
}

perp_status perp_export_hdf5(perp_ctx *ctx, const perp_results *results, const char *path)
{
  PERP_TRY(perp_io_hdf5_open(ctx));
  perp_io_hdf5.H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* it would print */
  perp_out out;
  const char *name;
  PERP_TRY(perp_out_open_named(ctx, path, &out, &name));
  hid_t file = perp_io_hdf5.H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  bool good = file >= 0;
  if (good) {
    hid_t cells = perp_io_hdf5.H5Gcreate2(file, "cells", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t time = perp_io_hdf5.H5Gcreate2(file, "time", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    good = cells >= 0 && time >= 0 && export_hdf5_attribute(file, "study", results->study->name) &&
           export_hdf5_write_cells(results, cells) && write_times(results, time);
    if (cells >= 0) perp_io_hdf5.H5Gclose(cells);
    if (time >= 0) perp_io_hdf5.H5Gclose(time);
    good = perp_io_hdf5.H5Fclose(file) >= 0 && good;
  }
  PERP_TRY(perp_out_close(ctx, &out, good));
  return good ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_IO, "cannot write %s", path);
}
