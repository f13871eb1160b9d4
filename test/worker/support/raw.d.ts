/// <reference types="vite/types/importMeta.d.ts" />
/** The text of a file. */
declare module "*?raw" {
  const text: string;
  export default text;
}
