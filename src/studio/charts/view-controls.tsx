/** Controls of how charts are looked at. */
import { Button, Group, Slider, Switch, Text } from '@mantine/core';
import { setChartView, setRange, useChartView } from '../store/chart-view.ts';

export function Smoothing() {
  const smoothing = useChartView((view) => view.smoothing);
  return (
    <Group gap={8} wrap="nowrap">
      <Text size="xs" c="dimmed" id="smoothing">
        Smoothing
      </Text>
      <Slider
        w={110}
        size="sm"
        min={0}
        max={0.99}
        step={0.01}
        value={smoothing}
        onChange={(value) => setChartView({ smoothing: value })}
        label={(value) => value.toFixed(2)}
        thumbProps={{ 'aria-labelledby': 'smoothing' }}
      />
    </Group>
  );
}

export function LogSwitch() {
  const log = useChartView((view) => view.log);
  return (
    <Switch
      size="xs"
      label="Log"
      checked={log}
      onChange={({ currentTarget }) => setChartView({ log: currentTarget.checked })}
    />
  );
}

export function AllSteps() {
  const range = useChartView((view) => view.range);
  if (!range) return null;
  return (
    <Button size="compact-xs" variant="light" onClick={() => setRange(null)}>
      All steps
    </Button>
  );
}
