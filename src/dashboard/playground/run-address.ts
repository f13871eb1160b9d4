/** Returns the address of a run in the playground. `asForm`: in the form, not in the version's own view. */
export const runAddress = (playground: string, id: string, asForm: boolean) =>
  `${playground}?prediction=${id}${asForm ? "&view=form" : ""}`;
