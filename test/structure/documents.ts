import { posix } from 'node:path';
import type { TextFile } from './project-files.js';

const withoutCode = (text: string): string => text.replace(/^( *)```.*?^\1```$/gms, '').replace(/`[^`\n]*`/g, '');

/** Targets of links and pictures, without those to other sites. */
const linksOf = ({ text }: TextFile): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The page or file that a link of a page points to, and the anchor in it. */
function resolveLink(page: TextFile, link: string): { path: string; anchor: string } {
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

/** Pages of docs that a file names, by a path from the top. */
export const namedPages = ({ text }: TextFile): string[] =>
  [...text.matchAll(/(?<![\w./-])docs\/[\w./-]+\.md\b/g)].map(([path]) => path);

const machinePath = /(?<![\w.$}/-])\/(?:work|root|home\/\w+|Users\/\w+|tmp\/bash_jobs)\//;

/** Lines that name a path of a machine. */
export function machinePaths({ path, text }: TextFile): string[] {
  return text.split('\n').flatMap((line, index) => (machinePath.test(line) ? [`${path}:${index + 1}`] : []));
}
