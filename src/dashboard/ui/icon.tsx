/** The icons beside words (style/icons.css). */

export type IconName =
  | "docs"
  | "done"
  | "find"
  | "fleet"
  | "models"
  | "open"
  | "predictions"
  | "tokens"
  | "users";

/** Says nothing by itself: a word is beside it. */
export const Icon = ({ name }: { name: IconName }) => (
  <span class={`icon icon-${name}`} aria-hidden="true" />
);
