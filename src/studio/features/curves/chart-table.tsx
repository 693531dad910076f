/** A chart as a table, for those who do not read charts: newest step first, held-out scores beside the training ones. */
import { Table, Text } from '@mantine/core';
import { type Band, placeOf, type Series } from '../../charts/chart-lines.ts';
import { formatCount, formatNumber } from '../../store/format.ts';

/** Rows of the table; a run has thousands of steps, and the page says how many are not listed. */
const LISTED = 50;

export interface TableRow {
  row: number;
  place: string;
  /** One a series; NaN where the step has none. */
  values: number[];
}

/** Steps at which anything of the chart is known, newest first. */
export function tableRows(series: readonly Series[], bands: readonly Band[]): TableRow[] {
  const points = series.map((one) =>
    one.points ? new Map(one.points.map(({ row, value }) => [row, value])) : null,
  );
  const known = new Set<number>(points.flatMap((map) => [...(map?.keys() ?? [])]));
  for (const { values } of series)
    for (let row = 0; row < values.length; row++) if (!Number.isNaN(values[row])) known.add(row);
  return [...known]
    .sort((a, b) => b - a)
    .map((row) => ({
      row,
      place: placeOf(row, bands),
      values: series.map(({ values }, i) => points[i]?.get(row) ?? values[row] ?? Number.NaN),
    }));
}

export interface ChartTableProps {
  title: string;
  series: readonly Series[];
  bands: readonly Band[];
}

export function ChartTable({ title, series, bands }: ChartTableProps) {
  const rows = tableRows(series, bands);
  const listed = rows.slice(0, LISTED);
  return (
    <Table.ScrollContainer minWidth={200} maxHeight={180}>
      <Table fz="xs" verticalSpacing={2} stickyHeader aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>step</Table.Th>
            {series.map(({ name }) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {listed.map(({ row, place, values }) => (
            <Table.Tr key={row}>
              <Table.Th scope="row" fw={400}>
                {place}
              </Table.Th>
              {values.map((value, i) => (
                <Table.Td key={series[i].name}>{formatNumber(value)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {listed.length < rows.length && (
        <Text size="xs" c="dimmed" mt={4}>
          The last {LISTED} of {formatCount(rows.length)} steps
        </Text>
      )}
    </Table.ScrollContainer>
  );
}
