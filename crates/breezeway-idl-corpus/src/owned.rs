//! Owned values made of views, to compare the two ways to read.

use crate::sample::{Ano, AnoView, Mixed, MixedView, Node, NodeView, Shape, ShapeView};

impl From<AnoView> for Ano {
    fn from(view: AnoView) -> Self {
        Self { a: view.a }
    }
}

impl From<MixedView<'_>> for Mixed {
    fn from(view: MixedView<'_>) -> Self {
        Self {
            flag: view.flag,
            count: view.count,
            stamp: view.stamp,
            ratio: view.ratio,
            name: view.name.to_owned(),
            numbers: view.numbers.to_vec(),
        }
    }
}

impl From<ShapeView<'_>> for Shape {
    fn from(view: ShapeView<'_>) -> Self {
        match view {
            ShapeView::Unset => Self::Unset,
            ShapeView::Side(side) => Self::Side(side),
            ShapeView::Name(name) => Self::Name(name.to_owned()),
            ShapeView::Ano(ano) => Self::Ano(ano.into()),
        }
    }
}

impl From<NodeView<'_>> for Node {
    fn from(view: NodeView<'_>) -> Self {
        Self {
            value: view.value,
            next_node: view.next_node.map(|next| Box::new(next.get().into())),
            children: view.children.iter().map(Self::from).collect(),
            table: view.table.iter().map(|(key, list)| (key.to_owned(), list.to_vec())).collect(),
            set_of_numbers: view.set_of_numbers.to_vec().into(),
            blob: view.blob.to_owned(),
            mixed: view.mixed.iter().map(Mixed::from).collect(),
            shape: view.shape.map(Shape::from),
            colors: view.colors.to_vec(),
            limit: view.limit,
            tags: view.tags.iter().map(str::to_owned).collect(),
            by_number: view.by_number.iter().map(|(key, ano)| (key, ano.into())).collect(),
        }
    }
}
