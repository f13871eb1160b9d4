/** The icon of every page, in the page: a file of its own would be one more request for 400 bytes. */
const BIRD = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d3557"/><path d="M3 11c6-1 9 1 13 8 4-7 7-9 13-8-6 2-9 6-10 13h-6C12 17 9 13 3 11z" fill="#f1faee"/><circle cx="16" cy="10" r="3" fill="#e9c46a"/></svg>`;

export const ICON = `data:image/svg+xml,${encodeURIComponent(BIRD)}`;
