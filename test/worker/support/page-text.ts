/** Returns the text of a page without its tags, in one line. */
export const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ");
