/** One metric as a page of metrics shows it or docs/reference/metrics.md describes it. */
export interface DescribedMetric {
  name: string;
  type: string;
  /** Sorted. */
  labels: string[];
}

/** Part of each histogram, or added by the Temporal SDK to all that it shows. */
const labelsOfOthers = ['le', 'namespace', 'task_queue', 'workflow_type', 'service_name'];

/** The rows `| \`name\` | type | labels | meaning |` of a Markdown text. */
export function describedMetrics(markdown: string): DescribedMetric[] {
  const rows = markdown.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|([^|]*)\|/gm);
  return [...rows].map(([, name = '', type = '', labels = '']) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort(),
  }));
}

/** What a page of metrics shows; `labels` is null where there is no sample yet. */
export function shownMetrics(page: string): (Omit<DescribedMetric, 'labels'> & { labels: string[] | null })[] {
  const types = [...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  return types.map(([, name = '', type = '']) => {
    const parts = type === 'histogram' ? '(?:_bucket|_sum|_count)' : '';
    const samples = [...page.matchAll(new RegExp(`^${name}${parts}(?:\\{([^}]*)\\})? `, 'gm'))];
    const labels = samples.flatMap(([, given = '']) => [...given.matchAll(/(\w+)="/g)].map(([, label = '']) => label));
    const own = [...new Set(labels)].filter((label) => !labelsOfOthers.includes(label)).sort();
    return { name, type, labels: samples.length === 0 ? null : own };
  });
}
