/** Settings and code: beside the conversation, or in its place where the window is narrow. */

const NARROW = matchMedia("(max-width: 60rem)");

export function attachSides(root: HTMLElement): { showConversation: () => void } {
  const tabs = [...root.querySelectorAll<HTMLElement>("[data-tab]")];
  const mark = () => {
    const { side, narrow } = root.dataset;
    const current = NARROW.matches && narrow === "chat" ? "chat" : side;
    for (const tab of tabs) {
      if (tab.dataset.tab === current) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  };
  const show = (name = "chat") => {
    root.dataset.narrow = name === "chat" ? "chat" : "side";
    if (name !== "chat") root.dataset.side = name;
    mark();
  };
  for (const tab of tabs) {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      show(tab.dataset.tab);
    });
  }
  NARROW.addEventListener("change", mark);
  mark();
  return { showConversation: () => show() };
}
