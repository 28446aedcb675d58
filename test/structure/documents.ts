import { posix } from 'node:path';
import type { TextFile } from './project-files.js';

const withoutCode = (text: string): string => text.replace(/^( *)```.*?^\1```$/gms, '').replace(/`[^`\n]*`/g, '');

/** Targets of links and pictures, without those to other sites. */
export const linksOf = ({ text }: TextFile): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The page or file that a link of a page points to, and the anchor in it. */
export function resolveLink(page: TextFile, link: string): { path: string; anchor: string } {
  const [file = '', anchor = ''] = link.split('#');
  return { path: file === '' ? page.path : posix.normalize(posix.join(posix.dirname(page.path), file)), anchor };
}

/** The anchors of the headings, as GitHub makes them. */
export function anchorsOf({ text }: TextFile): string[] {
  const fenced = text.replace(/^( *)```.*?^\1```$/gms, '');
  const slugs = [...fenced.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return slugs.map((slug, index) => {
    const before = slugs.slice(0, index).filter((one) => one === slug).length;
    return before === 0 ? slug : `${slug}-${before}`;
  });
}

/** Links that lead to no file, or to no heading of their page. `has` tells of files and folders that are not pages. */
export function brokenLinks(pages: readonly TextFile[], has: (path: string) => boolean): string[] {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  return pages.flatMap((page) =>
    linksOf(page).flatMap((link) => {
      const { path, anchor } = resolveLink(page, link);
      const target = byPath.get(path);
      if (!target && !has(path)) return [`${page.path}: ${link} leads nowhere`];
      const holds = anchor === '' || (target && anchorsOf(target).includes(anchor));
      return holds ? [] : [`${page.path}: ${link} names no heading`];
    }),
  );
}

/** Pages of docs that neither the index of docs nor the index of their folder links to. */
export function unreachedPages(pages: readonly TextFile[]): string[] {
  const linked = (index: string): string[] => {
    const page = pages.find(({ path }) => path === index);
    return page ? linksOf(page).map((link) => resolveLink(page, link).path) : [];
  };
  const top = linked('docs/README.md');
  return pages
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/') && path !== 'docs/README.md')
    .filter((path) => {
      const index = `${posix.dirname(path)}/README.md`;
      return !top.includes(path) && !(top.includes(index) && linked(index).includes(path));
    });
}

const kinds = ['how-to', 'reference', 'explanation', 'decisions', 'internals'];

/** Pages of docs that have no kind, and pages that mix kinds: numbered steps belong to the tutorial and the how-to pages. */
export function strayKinds(pages: readonly TextFile[]): string[] {
  return pages.flatMap(({ path, text }) => {
    const [docs, folder = '', ...rest] = path.split('/');
    if (docs !== 'docs' || path === 'docs/README.md' || path === 'docs/tutorial.md') return [];
    if (!kinds.includes(folder) || rest.length !== 1) return [`${path} has no kind`];
    const hasSteps = /^1\. /m.test(withoutCode(text));
    return hasSteps && folder !== 'how-to' ? [`${path} gives steps, which belong into how-to`] : [];
  });
}

/** Pages of docs that a file names, by a path from the top. */
export const namedPages = ({ text }: TextFile): string[] =>
  [...text.matchAll(/(?<![\w./-])docs\/[\w./-]+\.md\b/g)].map(([path]) => path);

// Notes that helped to write this and are in no checkout. RFCs have sections, too, and stay.
const foreignNotes =
  /\b(upstream|design|temporal)(\.md)? sections?\b|\bupstream R?\d|\b(upstream|design)\.md\b|\(R\d+( to R\d+)?\)|\b(given|assumed|unknown),? \(?\d\.\d\)/i;

/** Lines that cite notes which are not in the repository. */
export const foreignCitations = ({ path, text }: TextFile): string[] =>
  text.split('\n').flatMap((line, index) => (foreignNotes.test(line) ? [`${path}:${index + 1}`] : []));

/** Each marked figure with what it shows. */
export const figuresIn = ({ text }: TextFile): { name: string; shown: string }[] =>
  [...text.matchAll(/<!-- figures:([\w-]+) -->(.*?)<!-- \/figures -->/gs)].map(([, name = '', shown = '']) => ({
    name,
    shown,
  }));

// Split, so that this file does not hold what it looks for.
const registryHosts = [
  'registry.npm' + 'js.org',
  'proxy.go' + 'lang.org',
  'sum.go' + 'lang.org',
  'maven.apache' + '.org/maven2',
];
const machinePath = /(?<![\w.$}/-])\/(?:work|root|home\/\w+|Users\/\w+|tmp\/bash_jobs)\//;

/** Places that name a package registry or a path of a machine, one line each. */
export function strayNames({ path, text }: TextFile): string[] {
  return text.split('\n').flatMap((line, index) => {
    const stray = registryHosts.find((host) => line.includes(host)) ?? machinePath.exec(line)?.[0];
    return stray === undefined ? [] : [`${path}:${index + 1} names ${stray}`];
  });
}
