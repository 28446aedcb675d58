/** Names of metrics in text, such as a PromQL expression; parts of a histogram count as the histogram. */
export const metricsIn = (text: string): string[] =>
  [...text.matchAll(/\b(?:faretrail|temporal|process|nodejs)_\w+/g)].map(([name]) =>
    name.replace(/_(?:bucket|sum|count)$/, ''),
  );
