/** So that 50 entries of three-byte letters stay below the 20,000 bytes that the server takes. */
const maxCell = 80;

/** One cell of a Markdown table: words of the service may hold anything. */
export const cell = (text: string, maxLength = maxCell): string =>
  text.slice(0, maxLength).replace(/[|<>`\\[\]"\p{C}]/gu, ' ');
