/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results as data for the script of the page. */
#ifndef PERP_REPORT_DATA_H
#define PERP_REPORT_DATA_H

#include "experiments/report/page.h"

/* One JSON object, safe inside of a <script> element: study, cells column by column (parameters, status,
 * metrics), the abscissa, thinned series.  Long arrays are float32, little endian, in base64. */
void perp_page_data(perp_page *page);

#endif
