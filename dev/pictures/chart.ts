import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from 'echarts/components';
import { type EChartsCoreOption, init, setPlatformAPI, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

use([BarChart, LineChart, GridComponent, LegendComponent, MarkLineComponent, TitleComponent, SVGRenderer]);

export interface Size {
  width: number;
  height: number;
}

/** Black on white, so that a picture can be read on a dark page as well. */
export const ink = {
  background: '#ffffff',
  text: '#1f2937',
  faint: '#6b7280',
  line: '#e5e7eb',
  goal: '#b91c1c',
} as const;
const font = 'sans-serif';

/**
 * Node cannot measure text, and readers have different fonts: this is about the width of a wide one. The library takes the
 * width of a Chinese letter for the height of a line, hence the square.
 */
setPlatformAPI({
  measureText: (text: string, font: string) => {
    const size = Number.parseFloat(/[\d.]+(?=px)/.exec(font)?.[0] ?? '12');
    return { width: [...text].reduce((sum, letter) => sum + size * (letter > '\u2000' ? 1 : 0.56), 0) };
  },
});

/** Draws one chart as SVG. */
export function toSvg(option: EChartsCoreOption, { width, height }: Size): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const textStyle = { fontFamily: font, color: ink.text };
  chart.setOption({ animation: false, backgroundColor: ink.background, textStyle, ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

/** Puts charts into one picture. The same charts give the same text. `title`: for those who cannot see it. */
export function composeSvg(
  title: string,
  parts: readonly { svg: string; x: number; y: number }[],
  { width, height }: Size,
): string {
  const placed = parts.map(({ svg, x, y }, index) =>
    svg
      .replace(/<style[\s\S]*?<\/style>/g, '') // what happens under a mouse
      .replace(/ (class|xml:space|baseProfile|version|xmlns:xlink|xmlns|pointer-events)="[^"]*"/g, '')
      .replace(/<path[^>]*fill-opacity="0"[^>]*stroke-width="0"[^>]*><\/path>\n?/g, '') // an invisible frame around a title
      .replace(/\bzr\d+-/g, `part${index}-`) // numbered by what the process has drawn before
      .replace(/ (d|transform|x|y)="[^"]*"/g, roundedNumbers)
      .replace(/<svg [^>]*>/, `<g transform="translate(${x} ${y})">`)
      .replace('</svg>', '</g>')
      .replace(/\n\s*\n/g, '\n'),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" fill="${ink.background}"/>`,
    ...placed,
    '</svg>',
    '',
  ].join('\n');
}

/** A tenth of a pixel is more than anybody sees. */
const roundedNumbers = (attribute: string): string =>
  attribute.replace(/-?\d+\.\d+/g, (number) => String(Math.round(Number(number) * 10) / 10));
