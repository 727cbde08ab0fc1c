//! Sizes of a drawn chart. Text cannot shrink with a picture, so a narrow window gets a drawing of
//! its own.

/// A drawing's measures, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Class that selects the windows on which it is shown.
    pub(crate) class: &'static str,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    /// Room for the names of the lines.
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

pub(crate) const WIDE: Frame = Frame {
    class: "wide",
    width: 640.0,
    height: 430.0,
    left: 70.0,
    right: 132.0,
    top: 14.0,
    bottom: 60.0,
};

pub(crate) const NARROW: Frame = Frame {
    class: "narrow",
    width: 328.0,
    height: 380.0,
    left: 64.0,
    right: 122.0,
    top: 10.0,
    bottom: 58.0,
};

impl Frame {
    pub(crate) fn right_edge(&self) -> f64 {
        self.width - self.right
    }

    pub(crate) fn bottom_edge(&self) -> f64 {
        self.height - self.bottom
    }

    /// The horizontal position of a share of the axis.
    pub(crate) fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right_edge() - self.left)
    }

    /// The vertical position of a share of the axis, which points upwards.
    pub(crate) fn y(&self, share: f64) -> f64 {
        self.bottom_edge() - share * (self.bottom_edge() - self.top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_at_the_lower_left() {
        for frame in [WIDE, NARROW] {
            assert_eq!((frame.x(0.0), frame.y(0.0)), (frame.left, frame.bottom_edge()));
            assert_eq!((frame.x(1.0), frame.y(1.0)), (frame.right_edge(), frame.top));
        }
    }
}
