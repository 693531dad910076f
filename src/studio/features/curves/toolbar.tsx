/** How all charts are looked at, in one quiet line. */
import { ActionIcon, Group, Menu, SegmentedControl } from '@mantine/core';
import { bandsOf } from '../../charts/bands.ts';
import { toCsv, toJsonl } from '../../charts/export-chart.ts';
import { AllSteps, LogSwitch, Smoothing } from '../../charts/view-controls.tsx';
import { setChartView, useChartView, X_AXES } from '../../store/chart-view.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { useStudio } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { hasData, seriesOf } from './chart-data.ts';
import { CHARTS } from './chart-specs.ts';

/** Every series of every chart once, under the name of its chart. */
function everything(state: StudioState) {
  return CHARTS.filter((spec) => hasData(spec, state)).flatMap((spec) =>
    seriesOf(spec, state).map((one) => ({ ...one, name: `${spec.title}: ${one.name}` })),
  );
}

function saveAll(kind: 'csv' | 'jsonl'): void {
  const state = useStudio.getState();
  const text = (kind === 'csv' ? toCsv : toJsonl)(everything(state), bandsOf(state));
  saveFile(
    `polypath-curves.${kind}`,
    new Blob([text], { type: kind === 'csv' ? 'text/csv' : 'application/jsonl' }),
  );
}

export function Toolbar() {
  const axis = useChartView((view) => view.axis);
  return (
    <Group gap="lg" wrap="wrap" className="chart-toolbar" role="toolbar" aria-label="Charts">
      <Smoothing />
      <SegmentedControl
        size="xs"
        aria-label="Unit of the x axis"
        value={axis}
        onChange={(value) => setChartView({ axis: X_AXES.find((one) => one === value) })}
        data={[...X_AXES]}
      />
      <LogSwitch />
      <AllSteps />
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label="Save all curves" ml="auto">
            <Icon name="download" size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => saveAll('csv')}>All curves as CSV</Menu.Item>
          <Menu.Item onClick={() => saveAll('jsonl')}>All curves as JSON lines</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
