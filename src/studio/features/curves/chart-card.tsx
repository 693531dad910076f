/** One chart with its title, legend, table, and ways out. */
import { ActionIcon, Card, Group, Menu, Modal, Text, Tooltip } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { bandsOf } from '../../charts/bands.ts';
import { toCsv, toJsonl, toPng, toSvg } from '../../charts/export-chart.ts';
import { Legend } from '../../charts/legend.tsx';
import { MetricChart } from '../../charts/metric-chart.tsx';
import { useChartView } from '../../store/chart-view.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { showError } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { placesOf, seriesOf } from './chart-data.ts';
import { type ChartSpec, helpOf } from './chart-specs.ts';
import { ChartTable } from './chart-table.tsx';
import { useTurn } from './use-turn.ts';

const HEIGHT = 180;
/** Of a card with its chart: nothing jumps while a chart waits for its first turn. */
const CARD_HEIGHT = 262;

interface PlotProps {
  spec: ChartSpec;
  state: StudioState;
  height: number;
}

function Plot({ spec, state, height }: PlotProps) {
  const { ref, width } = useElementSize();
  const axis = useChartView((view) => view.axis);
  const range = useChartView((view) => view.range);
  const smoothing = useChartView((view) => view.smoothing);
  const log = useChartView((view) => view.log);
  return (
    <div ref={ref} style={{ height }}>
      {width > 0 && (
        <MetricChart
          title={spec.title}
          series={seriesOf(spec, state)}
          bands={bandsOf(state)}
          marks={state.marks}
          axis={axis}
          xs={placesOf(axis, state)}
          range={range}
          smoothing={smoothing}
          log={log}
          domain={spec.domain}
          width={width}
          height={height}
        />
      )}
    </div>
  );
}

interface MenuProps {
  spec: ChartSpec;
  state: StudioState;
  chart: () => HTMLElement | null;
  enlarge(): void;
}

const fileName = (spec: ChartSpec, ending: string): string =>
  `polypath-${spec.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.${ending}`;

function ChartMenu({ spec, state, chart, enlarge }: MenuProps) {
  const save = (ending: string, type: string, content: BlobPart) =>
    saveFile(fileName(spec, ending), new Blob([content], { type }));
  const picture = async (kind: 'svg' | 'png') => {
    const element = chart();
    if (!element) return showError(`Show “${spec.title}” as a chart first; its table has no picture.`);
    try {
      if (kind === 'svg') save('svg', 'image/svg+xml', toSvg(element));
      else saveFile(fileName(spec, 'png'), await toPng(element));
    } catch (error) {
      showError(`The picture of “${spec.title}” could not be made: ${(error as Error).message}`);
    }
  };
  const series = () => seriesOf(spec, state);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`More for ${spec.title}`}>
          ⋯
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={enlarge}>Enlarge</Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => picture('png')}>Save as PNG</Menu.Item>
        <Menu.Item onClick={() => picture('svg')}>Save as SVG</Menu.Item>
        <Menu.Item onClick={() => save('csv', 'text/csv', toCsv(series(), bandsOf(state)))}>
          Save as CSV
        </Menu.Item>
        <Menu.Item onClick={() => save('jsonl', 'application/jsonl', toJsonl(series(), bandsOf(state)))}>
          Save as JSON lines
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export function ChartCard({ spec }: { spec: ChartSpec }) {
  const [state, element] = useTurn();
  const [table, setTable] = useState(false);
  const [large, setLarge] = useState(false);
  const drawn = useRef<HTMLDivElement>(null);
  const series = seriesOf(spec, state);
  return (
    <Card ref={element} role="region" aria-label={spec.title} mih={CARD_HEIGHT} className="chart-card">
      <Group justify="space-between" wrap="nowrap" gap={4}>
        <Tooltip label={helpOf(spec)} multiline w={320} events={{ hover: true, focus: true, touch: true }}>
          <Text fw={600} size="sm" tabIndex={0} className="chart-title" mr="auto">
            {spec.title}
          </Text>
        </Tooltip>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={table ? `${spec.title} as a chart` : `${spec.title} as a table`}
          aria-pressed={table}
          onClick={() => setTable(!table)}
        >
          <Icon name={table ? 'chart' : 'table'} size={14} />
        </ActionIcon>
        <ChartMenu
          spec={spec}
          state={state}
          chart={() => drawn.current?.querySelector<HTMLElement>('.chart') ?? null}
          enlarge={() => setLarge(true)}
        />
      </Group>
      <Legend series={series} />
      <div ref={drawn}>
        {table ? (
          <ChartTable title={spec.title} series={series} bands={bandsOf(state)} />
        ) : (
          <Plot spec={spec} state={state} height={HEIGHT} />
        )}
      </div>
      {spec.note && (
        <Text size="xs" c="dimmed" mt={4}>
          {spec.note}
        </Text>
      )}
      <Modal opened={large} onClose={() => setLarge(false)} title={spec.title} size="90%">
        <Legend series={series} />
        <Plot spec={spec} state={state} height={Math.round(0.6 * window.innerHeight)} />
      </Modal>
    </Card>
  );
}
