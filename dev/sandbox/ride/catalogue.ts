/** The products of a sandbox (the fields of a product are published in part, 2.3). `editable`: a scheduled order of this product can change. */
export const sandboxProducts = {
  standard: {
    id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a001',
    category: 'transportation',
    name: 'Standard Cab',
    editable: true,
    editBeforeMinutes: 30,
    riders: 4,
  },
  executive: {
    id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a002',
    category: 'transportation',
    name: 'Executive Car',
    editable: false,
    editBeforeMinutes: 0,
    riders: 3,
  },
  parcel: {
    id: '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a003',
    category: 'delivery',
    name: 'Parcel Express',
    editable: true,
    editBeforeMinutes: 10,
    riders: 0,
  },
} as const;

export type ProductCategory = SandboxProduct['category'];
export type SandboxProduct = (typeof sandboxProducts)[keyof typeof sandboxProducts];

/** The product with this id, in any letter case. */
export const findProduct = (id: string): SandboxProduct | undefined =>
  Object.values(sandboxProducts).find((product) => product.id === id.toLowerCase());

/** One group of the answer to `products`. */
export const productBodies = (category: ProductCategory): unknown[] =>
  Object.values(sandboxProducts)
    .filter((product) => product.category === category)
    .map(({ id, name, editable, editBeforeMinutes, riders }) => ({
      product_id: id,
      name,
      description: `${name} of the sandbox`,
      price_concept: 'meter',
      edit_future_order_enabled: editable,
      edit_before_scheduled_at_min: editBeforeMinutes,
      riders,
    }));

/** The reference fields of the company. The settings say which of them are mandatory. `codesId`: their other id, under which codes are added. */
export const sandboxReferenceFields = [
  { id: 34549, title: 'Cost centre', codesId: '4e0c6b1d-3f52-4d0a-9c61-5a4db0c5a011' },
  { id: 34550, title: 'Project', codesId: '4e0c6b1d-3f52-4d0a-9c61-5a4db0c5a012' },
] as const;
