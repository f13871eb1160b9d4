/**
 * Brings the current place into the middle of a row that scrolls sideways: on a phone it may lie beyond the
 * edge. Measured with the next paint, when whatever else the page's code changes is there: any sooner, the
 * page would be laid out twice.
 */
export const showCurrentPlaces = () => void requestAnimationFrame(show);

function show(): void {
  const places = document.querySelectorAll(":is(.main-nav, .tabs) > [aria-current]");
  for (const place of places) {
    const row = place.parentElement;
    // Not scrollIntoView: that would move the page, too.
    if (row) row.scrollLeft += middleOf(place) - middleOf(row);
  }
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}
