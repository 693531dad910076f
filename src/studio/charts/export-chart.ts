/** A chart as a file: its numbers, or its picture as it is drawn now. */
import { type Band, placeOf, type Series } from './chart-lines.ts';

interface Table {
  header: string[];
  rows: (string | number | null)[][];
}

/** Every row at which anything is known, oldest first. */
function tableOf(series: readonly Series[], bands: readonly Band[]): Table {
  const columns = series.flatMap((one) => {
    if (!one.points) return [{ name: one.name, at: (row: number) => one.values[row] }];
    const points = new Map(one.points.map((point) => [point.row, point]));
    const ends = one.points.some(({ low }) => low !== undefined);
    return [
      { name: one.name, at: (row: number) => points.get(row)?.value },
      ...(ends
        ? [
            { name: `${one.name} low`, at: (row: number) => points.get(row)?.low },
            { name: `${one.name} high`, at: (row: number) => points.get(row)?.high },
          ]
        : []),
    ];
  });
  const last = Math.max(
    -1,
    ...series.map(({ values, points }) =>
      Math.max(values.length - 1, ...(points ?? []).map(({ row }) => row)),
    ),
  );
  const rows: Table['rows'] = [];
  for (let row = 0; row <= last; row++) {
    const values = columns.map(({ at }) => {
      const value = at(row);
      return value === undefined || !Number.isFinite(value) ? null : value;
    });
    if (values.some((value) => value !== null)) rows.push([row + 1, placeOf(row, bands), ...values]);
  }
  return { header: ['row', 'step', ...columns.map(({ name }) => name)], rows };
}

/** RFC 4180: a field with a comma, a quote or a line break is quoted. */
const field = (value: string | number | null): string => {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function toCsv(series: readonly Series[], bands: readonly Band[]): string {
  const { header, rows } = tableOf(series, bands);
  return [header, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

/** One object a row; a gap is null. */
export function toJsonl(series: readonly Series[], bands: readonly Band[]): string {
  const { header, rows } = tableOf(series, bands);
  return rows
    .map((row) => `${JSON.stringify(Object.fromEntries(header.map((name, i) => [name, row[i]])))}\n`)
    .join('');
}

const DRAWN = ['stroke', 'fill', 'opacity', 'stroke-opacity', 'fill-opacity', 'font-size', 'font-family'];

/** A drawing that looks the same without the page's style sheets and theme. */
function withOwnStyle(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = copy.querySelectorAll('*');
  svg.querySelectorAll('*').forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const property of DRAWN) copies[i].setAttribute(property, style.getPropertyValue(property));
  });
  return copy;
}

/** The picture of a chart's element (frame and lines) as an SVG document. */
export function toSvg(chart: HTMLElement): string {
  const { width, height } = chart.getBoundingClientRect();
  const layers = [...chart.querySelectorAll<SVGSVGElement>('svg')].map(withOwnStyle);
  const ground = getComputedStyle(document.body).backgroundColor;
  const inner = layers.map((layer) => new XMLSerializer().serializeToString(layer)).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="${ground}"/>${inner}</svg>`;
}

/** The same as pixels, at twice the size for paper and slides. */
export async function toPng(chart: HTMLElement, scale = 2): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([toSvg(chart)], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const { width, height } = chart.getBoundingClientRect();
    const canvas = new OffscreenCanvas(width * scale, height * scale);
    const context = canvas.getContext('2d');
    if (!context) throw new Error('This browser gives no canvas to draw the picture on. Save it as SVG.');
    context.scale(scale, scale);
    context.drawImage(image, 0, 0);
    return await canvas.convertToBlob({ type: 'image/png' });
  } finally {
    URL.revokeObjectURL(url);
  }
}
