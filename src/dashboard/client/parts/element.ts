/** Creates an element with a class and content. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...content: (string | Node)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  if (className) created.className = className;
  created.append(...content);
  return created;
}

/** @param act called on each click; without one, the button submits its form */
export function button(name: string, className: string, act?: () => void): HTMLButtonElement {
  const created = element("button", className, name);
  created.type = act ? "button" : "submit";
  if (act) created.addEventListener("click", act);
  return created;
}

/** Returns the address of a page of the account that the current page belongs to. */
export const inAccount = (path: string): string =>
  (document.documentElement.dataset.base ?? "") + path;

export const link = (address: string, ...content: (string | Node)[]): HTMLAnchorElement =>
  Object.assign(element("a", "", ...content), { href: address });

/** A link to another site, which is not told where the reader comes from. */
export const foreignLink = (address: string, text: string): HTMLAnchorElement =>
  Object.assign(link(address, text), { rel: "noopener noreferrer nofollow" });

/** @param kind of the media at `address` */
export const player = (kind: "audio" | "video", address: string, name: string) =>
  Object.assign(element(kind, ""), {
    src: address,
    controls: true,
    preload: "metadata",
    ariaLabel: name,
  });

export const picture = (address: string, name: string): HTMLImageElement =>
  Object.assign(element("img", ""), { src: address, alt: name });

/** A picture that links to itself in a new tab. Browsers open no data URL as a page. */
export function pictureLink(address: string, name: string): HTMLElement {
  const shown = picture(address, name);
  if (address.startsWith("data:")) return shown;
  return Object.assign(link(address, shown), { target: "_blank" });
}
