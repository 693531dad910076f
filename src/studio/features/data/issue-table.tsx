/** Rows that were left out: how many for which reason, and the first of them. */
import { Badge, Group, Table, Text } from '@mantine/core';
import { type DatasetReport, ISSUE_REASONS } from '../../../worker/protocol.ts';
import { formatCount } from '../../store/format.ts';

export function IssueTable({ report }: { report: DatasetReport }) {
  if (report.issueCount === 0) return null;
  const reasons = Object.entries(report.issuesByReason ?? {}).sort((a, b) => b[1] - a[1]);
  return (
    <>
      {reasons.length > 0 && (
        <Group gap={6} mt="sm" data-testid="issue-reasons">
          {reasons.map(([code, count]) => (
            <Badge key={code} variant="light" color="orange" tt="none">
              {ISSUE_REASONS[code as keyof typeof ISSUE_REASONS]} {formatCount(count)}
            </Badge>
          ))}
        </Group>
      )}
      <Table.ScrollContainer minWidth={200} mt="sm" mah={260}>
        <Table fz="xs" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={56}>line</Table.Th>
              <Table.Th>why it was left out, and how it begins</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {report.issues.map((issue) => (
              <Table.Tr key={`${issue.line} ${issue.byte}`}>
                <Table.Td className="data-line" title={issue.byte === undefined ? '' : `byte ${issue.byte}`}>
                  {issue.line}
                </Table.Td>
                <Table.Td>
                  {issue.reason}
                  <div className="data-snippet">{issue.snippet}</div>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {report.issueCount > report.issues.length && (
          <Text size="xs" c="dimmed" mt={4}>
            … and {formatCount(report.issueCount - report.issues.length)} more
          </Text>
        )}
      </Table.ScrollContainer>
    </>
  );
}
