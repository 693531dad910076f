/** The live curves, in groups, what matters first. They are drawn anew about once a second, in turns. */
import { SimpleGrid, Title } from '@mantine/core';
import { useStudio } from '../../store/studio-store.ts';
import { ChartCard } from './chart-card.tsx';
import { hasData } from './chart-data.ts';
import { CHARTS, GROUPS } from './chart-specs.ts';
import { Toolbar } from './toolbar.tsx';
import './curves.css';

/** Charts whose metrics nobody has logged yet are left out: an SFT stage has no rewards. */
export function Curves() {
  // A string compares by value: the cards come and go with it, not with every step.
  const known = useStudio((state) =>
    CHARTS.filter((spec) => hasData(spec, state))
      .map((spec) => spec.title)
      .join('\n'),
  );
  if (known === '') return null;
  const titles = new Set(known.split('\n'));
  return (
    <section aria-label="Curves" className="curves">
      <Toolbar />
      {GROUPS.map(({ title, charts }) => ({ title, shown: charts.filter((spec) => titles.has(spec.title)) }))
        .filter(({ shown }) => shown.length > 0)
        .map(({ title, shown }) => (
          <section key={title} aria-label={title}>
            <Title order={2} size="sm" c="dimmed" fw={600} mb="xs">
              {title}
            </Title>
            <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
              {shown.map((spec) => (
                <ChartCard key={spec.title} spec={spec} />
              ))}
            </SimpleGrid>
          </section>
        ))}
    </section>
  );
}
