/** The icons beside words (style/icons.css). */

export type IconName =
  | "add"
  | "docs"
  | "done"
  | "fleet"
  | "home"
  | "models"
  | "open"
  | "predictions"
  | "search"
  | "tokens"
  | "users";

/** Says nothing by itself: a word is beside it. */
export const Icon = ({ name }: { name: IconName }) => (
  <span class={`icon icon-${name}`} aria-hidden="true" />
);
