// Split, so that this file does not hold what it looks for.
const registryHosts = [
  'registry.npm' + 'js.org',
  'proxy.go' + 'lang.org',
  'sum.go' + 'lang.org',
  'maven.apache' + '.org/maven2',
];
const machinePath = /(?<![\w.$}/-])\/(?:work|root|home\/\w+|Users\/\w+|tmp\/bash_jobs)\//;

/** Places that name a package registry or a path of a machine, one line each. */
export function strayNames(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const stray = registryHosts.find((host) => line.includes(host)) ?? machinePath.exec(line)?.[0];
    return stray === undefined ? [] : [`${path}:${index + 1} names ${stray}`];
  });
}
