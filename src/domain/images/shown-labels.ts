/** The labels of an image as a page can show them: the builder of the image wrote them, at any length. */

export interface ShownLabel {
  name: string;
  /** The beginning of the value, as far as it fits. */
  value: string;
  length: number;
  /** Whether this is Cog's OpenAPI document, whose schemas are shown in its place. */
  isOpenapi: boolean;
}

const MAX_LABELS = 100;
const MAX_NAME = 200;

/** The characters of all values together. */
const MAX_CHARACTERS = 64 * 1024;

const OPENAPI = new Set(["run.cog.openapi_schema", "org.cogmodel.openapi_schema"]);

/** Returns labels by name. @returns also how many there are besides these */
export function shownLabels(labels: Record<string, string>): {
  labels: ShownLabel[];
  more: number;
} {
  const all = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  let left = MAX_CHARACTERS;
  const shown = all.slice(0, MAX_LABELS).map(([name, whole]) => {
    const isOpenapi = OPENAPI.has(name);
    const value = isOpenapi ? "" : whole.slice(0, left);
    left -= value.length;
    return { name: name.slice(0, MAX_NAME), value, length: whole.length, isOpenapi };
  });
  return { labels: shown, more: all.length - shown.length };
}
