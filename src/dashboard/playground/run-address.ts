/** Of a run in the playground: in the version's own view unless the form is wanted where it has one. */
export const runAddress = (playground: string, id: string, asForm: boolean) =>
  `${playground}?prediction=${id}${asForm ? "&view=form" : ""}`;
